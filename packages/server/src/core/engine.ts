/**
 * One engine for a process: the registry, the slots, the counts, and what all calls share.
 *
 * Promises that every call it begins leaves it exactly once. Does not know of MCP: methods and names are words to it.
 */
import { Alarms } from './alarms.ts';
import { Call } from './call.ts';
import type { CallHost, CallInit } from './call-options.ts';
import { checkFlag, checkMs } from './checks.ts';
import { type Clock, systemClock } from './clock.ts';
import { cleanUp, Janitor } from './janitor.ts';
import { within } from './ladder/rung.ts';
import type { CallState } from './outcome.ts';
import { type StopReason, shutdown } from './reason.ts';
import type { RecordedLimits } from './recorded.ts';
import { Registry } from './registry.ts';
import { type SlotLimits, Slots } from './slots/slots.ts';
import { SparePool } from './work/isolated/spares.ts';
import { nest } from './work/nested.ts';

export interface EngineOptions extends SlotLimits {
  readonly clock?: Clock;
  /** ms between a call's signal and the kill; default 2 000. 0 kills at once. */
  readonly graceMs?: number | undefined;
  /** ms between SIGTERM and SIGKILL for the processes of a call; default 1 000. 0 kills at once. */
  readonly termMs?: number | undefined;
  /** ms that calls may take to end by themselves at a shutdown that waits for them; default 10 000. */
  readonly drainMs?: number | undefined;
  /**
   * Whether the processes of a call get a control group where this process may make one (Linux, cgroup v2): it shows
   * for certain when all of them have ended. Default: yes.
   */
  readonly cgroups?: boolean | undefined;
  /** Bounds of the cancels that wait for a call to come. */
  readonly recorded?: RecordedLimits | undefined;
  /** ms between two passes of the janitor; default 60 000. `Infinity`: it never comes by itself. */
  readonly cleanupMs?: number | undefined;
}

export interface Stats {
  /** Calls that have arrived, and whose handler has not been started. */
  readonly queued: number;
  /** Calls whose handler has been started, and that have not been stopped. */
  readonly running: number;
  /**
   * Calls that are answered, or whose ladder is done, and whose handler runs on or whose work is `unknown`; and those
   * that an operator has released, until they leave.
   */
  readonly abandoned: number;
  /** Calls that have not left: everything that still counts, in any state. */
  readonly inFlight: number;
  /** Cancels that wait for a call to come. */
  readonly recorded: number;
  readonly ignoredCancels: number;
}

const DEFAULT_GRACE_MS = 2_000;
const DEFAULT_TERM_MS = 1_000;
const DEFAULT_DRAIN_MS = 10_000;
const DEFAULT_CLEANUP_MS = 60_000;
/** ms that spares may take to end when the engine closes: one may be importing by native code that does not return. */
const SPARES_END_MS = 1_000;

export class Engine implements CallHost {
  readonly clock: Clock;
  readonly alarms: Alarms;
  readonly graceMs: number;
  readonly termMs: number;
  readonly drainMs: number;
  readonly cgroups: boolean;
  readonly registry: Registry;
  readonly slots: Slots;
  /** Threads and processes that are started ahead; they go when the engine is closed. */
  readonly spares = new SparePool();
  readonly #janitor: Janitor;
  #queued = 0;
  #running = 0;
  #inFlight = 0;
  // Calls that come are refused with it; not those that a call makes which may still run.
  #refusesWith: StopReason | undefined;
  // Each hears, once, that no call waits or runs.
  #drained: (() => void)[] = [];

  /** @throws RangeError for an option that is no number of its kind, naming it */
  constructor(options: EngineOptions = {}) {
    this.clock = options.clock ?? systemClock;
    this.alarms = new Alarms(this.clock);
    this.graceMs = checkMs(options.graceMs === undefined ? DEFAULT_GRACE_MS : options.graceMs, 'graceMs');
    this.termMs = checkMs(options.termMs === undefined ? DEFAULT_TERM_MS : options.termMs, 'termMs');
    this.drainMs = checkMs(options.drainMs === undefined ? DEFAULT_DRAIN_MS : options.drainMs, 'drainMs');
    this.cgroups = checkFlag(options.cgroups === undefined ? true : options.cgroups, 'cgroups');
    this.registry = new Registry(this.clock, options.recorded);
    this.slots = new Slots(this.clock, options);
    const everyMs = checkMs(options.cleanupMs === undefined ? DEFAULT_CLEANUP_MS : options.cleanupMs, 'cleanupMs');
    this.#janitor = new Janitor(this.clock, this.registry, everyMs || Infinity);
  }

  /** A call that has arrived: in flight, and cancellable, from this moment on. */
  begin(init: CallInit): Call {
    const call = new Call(this, init);
    this.#queued += 1;
    this.#inFlight += 1;
    this.registry.track(call);
    if (this.#refusesWith !== undefined && init.parent === undefined) call.stop(this.#refusesWith);
    return call;
  }

  /** A call that another one makes, see `nest`. */
  nest(parent: Call, init: Pick<CallInit, 'method' | 'name'>): Call {
    return nest(parent, (nested) => this.begin(nested), init);
  }

  stats(): Stats {
    return {
      queued: this.#queued,
      running: this.#running,
      abandoned: this.slots.abandoned,
      inFlight: this.#inFlight,
      recorded: this.registry.recorded,
      ignoredCancels: this.registry.ignoredCancels,
    };
  }

  /** A pass of the janitor, now. */
  cleanup(): void {
    cleanUp(this.registry);
  }

  /** Resolves when no ladder climbs any more: each call that was stopped has ended, or has been given up. Bounded. */
  async laddersDone(): Promise<void> {
    await Promise.all(this.registry.unfinished().map((call) => call.ladder));
  }

  /**
   * Refuses calls that come later, and lets those that are there end by themselves. Does not stop any.
   *
   * @returns when none waits or runs that was not stopped, after `drainMs` at the latest
   */
  async drain(reason: StopReason = shutdown()): Promise<void> {
    this.#refusesWith ??= reason;
    if (this.#isDrained) return;
    const drained = new Promise<void>((resolve) => this.#drained.push(resolve));
    await within(this.clock, this.drainMs, drained);
  }

  /**
   * Stops every call, refuses those that come later, and sends the janitor home. Does not wait for calls to end well.
   *
   * @returns when the ladders are done and the spares have ended, which is bounded; a handler that listens to nothing
   *   may still run
   */
  async close(reason: StopReason = shutdown()): Promise<void> {
    this.#refusesWith ??= reason;
    this.#janitor.dismiss();
    for (const call of this.registry.calls()) call.stop(reason);
    const sparesGone = this.spares.close();
    const spares = this.spares.isEmpty ? undefined : within(this.clock, SPARES_END_MS, sparesGone);
    await Promise.all([this.laddersDone(), spares]);
    this.alarms.dismiss();
  }

  moved(_call: Call, from: CallState, to: CallState): void {
    if (from === 'queued') this.#queued -= 1;
    else if (from === 'running') this.#running -= 1;
    if (to === 'running') this.#running += 1;
    if (this.#drained.length > 0 && this.#isDrained) for (const drained of this.#drained.splice(0)) drained();
  }

  left(call: Call): void {
    this.#inFlight -= 1;
    this.registry.untrack(call);
    call.owner?.left(call);
  }
  get #isDrained(): boolean {
    return this.#queued + this.#running === 0;
  }
}
