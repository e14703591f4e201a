/**
 * Calls that a call makes: in process, each with a row, a deadline and a place of its own, and none outlives its caller.
 *
 * The caller's stop is its stop, with the same reason; and when the caller's handler has settled, whatever it has left
 * behind is stopped too. Does not see calls that are made past it, such as over a connection back to the same server.
 */
import type { Call } from '../call.ts';
import type { CallInit, Owner } from '../call-options.ts';
import type { WorkFact } from '../outcome.ts';
import { cancelled, type StopReason } from '../reason.ts';
import type { Work } from './work.ts';

/**
 * Begins a call that `parent` makes. It runs on the parent's places in the slots, and needs only its own gate.
 *
 * @throws the parent's `StopReason` when it has been stopped; an Error when its handler is not running (any more)
 */
export function nest(parent: Call, begin: (init: CallInit) => Call, init: Pick<CallInit, 'method' | 'name'>): Call {
  parent.throwIfStopped();
  if (parent.state !== 'running') {
    throw new Error(`estop: ${parent.what} is not running, so it can make no call`);
  }
  const work = new NestedCall();
  work.call = begin({ ...init, scope: parent.scope, id: undefined, parent, owner: work });
  parent.adopt(work);
  return work.call;
}

class NestedCall implements Work, Owner {
  readonly kind = 'call';
  readonly listens = true;
  readonly ended: Promise<void>;
  call!: Call;
  #fact: WorkFact = 'unknown';
  #end = (): void => {};

  constructor() {
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  get fact(): WorkFact {
    return this.#fact;
  }

  left(call: Call): void {
    this.#fact = call.workFact;
    this.#end();
  }

  signal(reason: StopReason): void {
    this.call.stop(reason);
  }

  end(): Promise<void> {
    this.call.stop(cancelled('library', 'the call that made it has ended'));
    return this.call.ladder;
  }
}
