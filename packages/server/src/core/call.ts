/**
 * A call, from its arrival to the end of all that it started.
 *
 *     queued -> running -> completed | failed
 *        \         \-> stopping -> stopped | abandoned (-> stopped, when it ends after all)
 *         \-> refused
 *
 * The caller's answer, the handler's end and the work's end are three moments, in any order after a stop.
 * Does not make a handler listen: one that ignores its signal runs on, and is counted as abandoned.
 */
import type { Clock } from './clock.ts';
import { Deadline } from './deadline.ts';
import { climb, force } from './ladder/ladder.ts';
import { type Climber, hasEnded } from './ladder/rung.ts';
import { allOf, type CallState, type HandlerFact, type Outcome, type WorkFact } from './outcome.ts';
import { deadline, type StopReason } from './reason.ts';
import { createController } from './signal.ts';
import type { Work } from './work/work.ts';

export interface CallInit {
  /** Whose call it is, prefixed: `connection:1`. */
  readonly scope: string;
  /** As it came; an unusable one makes the call uncancellable over the wire, not unrunnable. */
  readonly id: unknown;
  readonly method: string;
  /** The tool's, prompt's or resource's name, where there is one. */
  readonly name: string | undefined;
  readonly owner?: Owner;
}

/** Hears, once, that a call of its is over and out of the registry. */
export interface Owner {
  left(call: Call): void;
}

/** What a call needs of the engine that it lives in. */
export interface CallHost {
  readonly clock: Clock;
  readonly graceMs: number;
  /** Told of each change of state, after it. */
  moved(call: Call, from: CallState, to: CallState): void;
  /** Told once, when the handler has settled (or will never start) and the ladder is done. */
  left(call: Call): void;
}

export class Call implements Climber {
  readonly scope: string;
  readonly id: unknown;
  readonly method: string;
  readonly name: string | undefined;
  readonly owner: Owner | undefined;

  readonly #host: CallHost;
  #state: CallState = 'queued';
  // Invariant: set at most once, together with the move to `stopping` or `refused`.
  #reason: StopReason | undefined;
  // Made when it is first looked at: most calls never look.
  #controller: AbortController | undefined;
  // Invariant: armed only while `running`.
  #deadline: Deadline | undefined;
  #works: Work[] | undefined;
  #settled = false;
  #left = false;
  #ladder: Promise<void> | undefined;
  #refuseAnswer: ((reason: StopReason) => void) | undefined;
  #quiet: { promise: Promise<void>; resolve: () => void } | undefined;

  constructor(host: CallHost, init: CallInit) {
    this.#host = host;
    this.scope = init.scope;
    this.id = init.id;
    this.method = init.method;
    this.name = init.name;
    this.owner = init.owner;
  }

  get state(): CallState {
    return this.#state;
  }

  /** Fires when the call is stopped, with the reason. Does not fire when the call ends normally. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = createController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  get reason(): StopReason | undefined {
    return this.#reason;
  }

  /** Whether the call has been stopped, by whatever reason; for loops that ask instead of listening. */
  get isCancelled(): boolean {
    return this.#reason !== undefined;
  }

  /** @throws the call's `StopReason`, when it has been stopped */
  throwIfStopped(): void {
    if (this.#reason !== undefined) throw this.#reason;
  }

  /** ms until the deadline, never below 0; `Infinity` without one. */
  remaining(): number {
    if (this.#reason !== undefined) return 0;
    return this.#deadline?.remaining() ?? Infinity;
  }

  get handlerFact(): HandlerFact {
    return this.#settled || this.#state === 'queued' || this.#state === 'refused' ? 'settled' : 'running';
  }

  get workFact(): WorkFact {
    return this.#works === undefined ? 'none' : allOf(this.#works.map((work) => work.fact));
  }

  get works(): readonly Work[] {
    return this.#works ?? [];
  }

  /** Resolves when the ladder has done what it can; at once for a call that has not been stopped. */
  get ladder(): Promise<void> {
    return this.#ladder ?? Promise.resolve();
  }

  outcome(): Outcome {
    return {
      state: this.#state,
      ...(this.#reason && { reason: this.#reason.kind }),
      handler: this.handlerFact,
      work: this.workFact,
    };
  }

  /** `tool "scrape"`, or the method where there is no name: for sentences. */
  get what(): string {
    if (this.name === undefined) return this.method;
    const kind = this.method === 'tools/call' ? 'tool' : this.method === 'prompts/get' ? 'prompt' : this.method;
    return `${kind} ${JSON.stringify(this.name.slice(0, 100))}`;
  }

  /**
   * Runs the handler, at most once and never after a stop, and answers at most once.
   *
   * @param timeoutMs ms from now; `Infinity` for none
   * @returns the handler's value; rejects with what the handler threw, or with the `StopReason` when the stop was first
   */
  run<T>(handler: () => T | PromiseLike<T>, timeoutMs: number): Promise<T> {
    if (this.#state === 'refused') return Promise.reject(this.#reason);
    if (this.#state !== 'queued') throw new Error(`estop: ${this.what} was started twice`);
    this.#enter('running');
    if (timeoutMs !== Infinity) {
      this.#deadline = new Deadline(this.#host.clock, timeoutMs, () => this.stop(deadline(this.what, timeoutMs)));
    }
    return new Promise<T>((resolve, reject) => {
      this.#refuseAnswer = reject;
      // Each arm is a rejection handler too: what a handler throws after its stop is heard here, and goes nowhere.
      invoke(handler).then(
        (value) => this.#settle('completed', () => resolve(value)),
        (error: unknown) => this.#settle('failed', () => reject(error)),
      );
    });
  }

  /**
   * Stops the call: fires its signal now, has the caller's wait end now, and lets the ladder do the rest.
   *
   * @returns false when there is nothing to stop: it was answered, refused, or stopped before. First wins, once.
   */
  stop(reason: StopReason): boolean {
    if (this.#state === 'queued') {
      this.#reason = reason;
      this.#enter('refused');
      this.#controller?.abort(reason);
      this.#leave();
      return true;
    }
    if (this.#state !== 'running') return false;
    this.#reason = reason;
    this.#disarm();
    this.#enter('stopping');
    const ladder = climb(this, this.#host);
    this.#refuseAnswer?.(reason);
    this.#refuseAnswer = undefined;
    // At its deadline a call is answered though its handler runs: that is what abandoned means. Any other stop
    // is given the ladder first.
    if (reason.kind === 'deadline') this.#enter('abandoned');
    this.#ladder = ladder.then(() => this.#ladderDone());
    return true;
  }

  /** Work that belongs to this call, and ends with it however it ends. */
  adopt(work: Work): void {
    this.#works ??= [];
    this.#works.push(work);
    if (this.#reason !== undefined) work.signal(this.#reason);
    void work.ended.then(() => this.#maybeQuiet());
  }

  /** Gives the call up before its handler was started: nobody will run it. */
  discard(): void {
    if (this.#state !== 'queued') return;
    this.#enter('failed');
    this.#leave();
  }

  /** The ladder's, see `Climber`. */
  fire(): void {
    this.#controller?.abort(this.#reason);
  }

  /** The ladder's, see `Climber`. */
  get quiet(): Promise<void> {
    if (this.#quiet === undefined) {
      let resolve = (): void => {};
      const promise = new Promise<void>((done) => {
        resolve = done;
      });
      this.#quiet = { promise, resolve };
      this.#maybeQuiet();
    }
    return this.#quiet.promise;
  }

  #settle(state: 'completed' | 'failed', answer: () => void): void {
    this.#settled = true;
    this.#disarm();
    this.#refuseAnswer = undefined;
    if (this.#state === 'running') {
      this.#enter(state);
      answer();
      // Work ends with its call, also when the call ended well.
      if (hasEnded(this)) this.#leave();
      else this.#ladder = force(this, this.#host).then(() => this.#ladderDone());
    }
    this.#maybeQuiet();
  }

  #ladderDone(): void {
    if (hasEnded(this)) this.#end();
    else {
      if (this.#state === 'stopping') this.#enter('abandoned');
      void this.quiet.then(() => this.#end());
    }
  }

  #end(): void {
    if (this.#state === 'stopping' || this.#state === 'abandoned') this.#enter('stopped');
    this.#leave();
  }

  #maybeQuiet(): void {
    if (hasEnded(this)) this.#quiet?.resolve();
  }

  // Invariant: a call leaves exactly once, and has no timer when it does.
  #leave(): void {
    if (this.#left) return;
    this.#left = true;
    this.#disarm();
    this.#host.left(this);
  }

  #disarm(): void {
    this.#deadline?.disarm();
    this.#deadline = undefined;
  }

  #enter(state: CallState): void {
    const from = this.#state;
    this.#state = state;
    this.#host.moved(this, from, state);
  }
}

/** A handler's throw and its rejection are one thing. */
async function invoke<T>(handler: () => T | PromiseLike<T>): Promise<T> {
  return handler();
}
