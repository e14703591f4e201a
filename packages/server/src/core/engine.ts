/**
 * One engine for a process: the registry, the counts, and what all calls share.
 *
 * Promises that every call it begins leaves it exactly once. Does not know of MCP: methods and names are words to it.
 */
import { Call, type CallHost, type CallInit } from './call.ts';
import { type Clock, systemClock } from './clock.ts';
import type { CallState } from './outcome.ts';
import { Registry } from './registry.ts';

export interface EngineOptions {
  readonly clock?: Clock;
  /** ms between a call's signal and the kill; default 2 000. 0 kills at once. */
  readonly graceMs?: number;
}

export interface Stats {
  /** Calls whose handler has been started, and that have not been stopped. */
  readonly running: number;
  /** Calls that are answered, or whose ladder is done, and whose handler runs on or whose work is `unknown`. */
  readonly abandoned: number;
  /** Calls that have not left: everything that still counts, in any state. */
  readonly inFlight: number;
  readonly ignoredCancels: number;
}

const DEFAULT_GRACE_MS = 2_000;

export class Engine implements CallHost {
  readonly clock: Clock;
  readonly graceMs: number;
  readonly registry = new Registry();
  #running = 0;
  #abandoned = 0;

  /** @throws RangeError for a grace that is no number of ms >= 0 */
  constructor(options: EngineOptions = {}) {
    this.clock = options.clock ?? systemClock;
    this.graceMs = checkGrace(options.graceMs === undefined ? DEFAULT_GRACE_MS : options.graceMs);
  }

  /** A call that has arrived: in flight, and cancellable, from this moment on. */
  begin(init: CallInit): Call {
    const call = new Call(this, init);
    this.registry.track(call);
    return call;
  }

  stats(): Stats {
    return {
      running: this.#running,
      abandoned: this.#abandoned,
      inFlight: this.registry.size,
      ignoredCancels: this.registry.ignoredCancels,
    };
  }

  /** Resolves when no ladder climbs any more: each call that was stopped has ended, or has been given up. Bounded. */
  async laddersDone(): Promise<void> {
    await Promise.all(this.registry.calls().map((call) => call.ladder));
  }

  moved(_call: Call, from: CallState, to: CallState): void {
    if (from === 'running') this.#running -= 1;
    if (to === 'running') this.#running += 1;
    if (from === 'abandoned') this.#abandoned -= 1;
    if (to === 'abandoned') this.#abandoned += 1;
  }

  left(call: Call): void {
    this.registry.untrack(call);
    call.owner?.left(call);
  }
}

function checkGrace(ms: number): number {
  if (typeof ms !== 'number' || !(ms >= 0)) {
    throw new RangeError(`estop: graceMs must be a number of milliseconds >= 0, got ${String(ms)}`);
  }
  return ms;
}
