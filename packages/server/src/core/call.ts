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
import type { Alarms } from './alarms.ts';
import { callEvent, channels, LONGEST_NAME } from './channels.ts';
import { checkMs } from './checks.ts';
import { cleanText } from './clean.ts';
import type { Clock } from './clock.ts';
import { CEILING_FACTOR, Deadline, type Timed } from './deadline.ts';
import { climb, force } from './ladder/ladder.ts';
import { type Climber, hasEnded } from './ladder/rung.ts';
import type { CallState, HandlerFact, Outcome, WorkFact } from './outcome.ts';
import { deadline, overloaded, type StopReason } from './reason.ts';
import { createController } from './signal.ts';
import type { Gate, Place, Slots, SlotUser } from './slots/slots.ts';
import { Stop, type StopListener } from './stop.ts';
import type { Work } from './work/work.ts';
import { Workload } from './work/workload.ts';

export interface CallInit {
  /** Whose call it is, prefixed: `connection:1`. */
  readonly scope: string;
  /** As it came; an unusable one makes the call uncancellable over the wire, not unrunnable. */
  readonly id: unknown;
  readonly method: string;
  /** The tool's, prompt's or resource's name, where there is one. */
  readonly name: string | undefined;
  readonly owner?: Owner | undefined;
  /** The call that makes this one, see `nest`. */
  readonly parent?: Call | undefined;
}

/** What a call came through: a connection, a session, a server object. */
export interface Owner {
  /** Hears, once, that a call of its is over and out of the registry. */
  left(call: Call): void;
  /** True for good once it cannot deliver an answer any more; the janitor then removes the rows of its calls. */
  readonly isGone?: boolean;
}

/** What a call needs of the engine that it lives in. */
export interface CallHost {
  readonly clock: Clock;
  readonly alarms: Alarms;
  readonly graceMs: number;
  readonly slots: Slots;
  /** Told of each change of state, after it. */
  moved(call: Call, from: CallState, to: CallState): void;
  /** Told once, when the handler has settled (or will never start) and the ladder is done. */
  left(call: Call): void;
}

export interface RunOptions<T = unknown> {
  /** ms from the handler's start; 0 and `Infinity`: no deadline. Time in the queue eats nothing of it. */
  readonly timeoutMs: number;
  /** Progress starts the deadline anew, see `progressed`. Default: it does not. */
  readonly resetTimeoutOnProgress?: boolean | undefined;
  /** ms beyond which progress extends no deadline; default: 10 times `timeoutMs`. */
  readonly maxTotalTimeoutMs?: number | undefined;
  /** A tool's limit, or a mutex, besides the limits for all. */
  readonly gate?: Gate | undefined;
  /** Makes the answer of a stopped call. Default: the promise of `run` rejects with the reason. */
  readonly answerStop?: ((call: Call, reason: StopReason) => T) | undefined;
}

const NONE: RunOptions = { timeoutMs: Infinity };

export class Call implements Climber, SlotUser, Timed {
  readonly scope: string;
  readonly id: unknown;
  readonly method: string;
  readonly name: string | undefined;
  readonly owner: Owner | undefined;
  readonly parent: Call | undefined;

  readonly #host: CallHost;
  #state: CallState = 'queued';
  // Invariant: set at most once, together with the move to `stopping` or `refused`.
  #stop: Stop | undefined;
  // Made when it is first looked at: most calls never look.
  #controller: AbortController | undefined;
  #stopListeners: Set<StopListener> | undefined;
  // Invariant: set at most once. A handler never starts after its stop.
  #handler: (() => unknown) | undefined;
  #options: RunOptions | undefined;
  #place: Place | undefined;
  // Invariant: armed only while `running`.
  #deadline: Deadline | undefined;
  #workload: Workload | undefined;
  #settled = false;
  #left = false;
  #isAbandonedUnplaced = false;
  #ladder: Promise<void> | undefined;
  // Invariant: gone with the answer, so that a call is answered at most once.
  #resolve: ((value: unknown) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;
  #quiet: { promise: Promise<void>; resolve: () => void } | undefined;

  constructor(host: CallHost, init: CallInit) {
    this.#host = host;
    this.scope = init.scope;
    this.id = init.id;
    this.method = init.method;
    this.name = init.name;
    this.owner = init.owner;
    this.parent = init.parent;
  }

  get state(): CallState {
    return this.#state;
  }

  /** Fires when the call is stopped, with the reason. Does not fire when the call ends normally. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = createController();
      if (this.#stop !== undefined) this.#controller.abort(this.#stop.reason);
    }
    this.#stop?.observed();
    return this.#controller.signal;
  }

  get reason(): StopReason | undefined {
    return this.#stop?.reason;
  }

  /** Whether the call has been stopped, by whatever reason; for loops that ask instead of listening. */
  get isCancelled(): boolean {
    this.#stop?.observed();
    return this.#stop !== undefined;
  }

  /** @throws the call's `StopReason`, when it has been stopped */
  throwIfStopped(): void {
    if (this.isCancelled) throw this.reason;
  }

  /** ms until the deadline, never below 0; `Infinity` without one, or before the handler has been started. */
  remaining(): number {
    if (this.#stop !== undefined) return 0;
    return this.#deadline?.remaining() ?? Infinity;
  }

  /**
   * Runs `listener` when the call is stopped, with the reason; at once when it has been. Never on normal completion.
   *
   * What it throws becomes a warning. Does not wait for what it returns: see `adopt` for work whose end matters.
   *
   * @returns takes the listener back
   */
  onStop(listener: StopListener): () => void {
    if (this.#stop !== undefined) {
      this.#stop.observed();
      this.#stop.tell(listener);
    } else if (!this.#settled) {
      this.#stopListeners ??= new Set();
      const listeners = this.#stopListeners;
      // A function of its own for each registration, so that one listener may be registered twice.
      const own: StopListener = (reason) => listener(reason);
      listeners.add(own);
      return () => void listeners.delete(own);
    }
    return () => {};
  }

  get handlerFact(): HandlerFact {
    return this.#settled || this.#state === 'queued' || this.#state === 'refused' ? 'settled' : 'running';
  }

  get workFact(): WorkFact {
    return this.#workload === undefined ? 'none' : this.#workload.fact;
  }

  get works(): readonly Work[] {
    return this.#workload === undefined ? [] : this.#workload.works;
  }

  /** Resolves when the ladder has done what it can; at once for a call that has not been stopped. */
  get ladder(): Promise<void> {
    return this.#ladder ?? Promise.resolve();
  }

  outcome(): Outcome {
    return {
      state: this.#state,
      handler: this.handlerFact,
      work: this.workFact,
      ...this.#stop?.facts(),
    };
  }

  /** `tool "scrape"`, or the method where there is no name: for sentences. */
  get what(): string {
    if (this.name === undefined) return this.method;
    const kind = this.method === 'tools/call' ? 'tool' : this.method === 'prompts/get' ? 'prompt' : this.method;
    return `${kind} ${JSON.stringify(cleanText(this.name, LONGEST_NAME) ?? '')}`;
  }

  /**
   * Runs the handler as soon as the slots have room; at most once, and never after a stop. Answers at most once.
   *
   * @returns the handler's value; rejects with what the handler threw, or with the `StopReason` when the stop was first
   */
  run<T>(handler: () => T | PromiseLike<T>, options: RunOptions<T>): Promise<T> {
    if (this.#options !== undefined || (this.#state !== 'queued' && this.#state !== 'refused')) {
      throw new Error(`estop: ${this.what} was started twice`);
    }
    // A deadline of `NaN` would fire at once, or never, and take its neighbours among the alarms with it.
    const { timeoutMs, maxTotalTimeoutMs } = options;
    if (typeof timeoutMs !== 'number' || !(timeoutMs >= 0)) checkMs(timeoutMs, `${this.what}: timeoutMs`);
    if (maxTotalTimeoutMs !== undefined) checkMs(maxTotalTimeoutMs, `${this.what}: maxTotalTimeoutMs`);
    this.#options = options as RunOptions;
    return new Promise<T>((resolve, reject) => {
      this.#resolve = resolve as (value: unknown) => void;
      this.#reject = reject;
      if (this.#state === 'refused') return this.#answerStop();
      this.#handler = handler;
      this.#ask(options.gate);
    });
  }

  /** The slots': there is room. */
  admitted(place?: Place): void {
    this.#place = place;
    this.#enter('running');
    const { timeoutMs } = this.#options as RunOptions;
    if (timeoutMs > 0 && timeoutMs !== Infinity) this.#deadline = new Deadline(this.#host.alarms, timeoutMs, this);
    // Each arm is a rejection handler too: what a handler throws after its stop is heard here, and goes nowhere.
    this.#invoke().then(
      (value) => this.#settle('completed', value),
      (error: unknown) => this.#settle('failed', error),
    );
  }

  /** The deadline's: it is over. */
  timedOut(timeoutMs: number): void {
    this.stop(deadline(this.what, timeoutMs));
  }

  /** The slots': there is no room, and will be none in time. */
  refused(message: string): void {
    this.#refuse(overloaded(message));
  }

  /**
   * Stops the call: fires its signal now, has the caller's wait end now, and lets the ladder do the rest.
   *
   * @returns false when there is nothing to stop: it was answered, refused, or stopped before. First wins, once.
   */
  stop(reason: StopReason): boolean {
    if (this.#state === 'queued') {
      this.#place?.withdraw();
      this.#refuse(reason);
      return true;
    }
    if (this.#state !== 'running') return false;
    this.#stop = new Stop(this, this.#host.clock, reason);
    this.#disarm();
    this.#enter('stopping');
    if (channels.recorded.hasSubscribers) channels.recorded.publish({ ...callEvent(this), reason });
    const ladder = climb(this, this.#host);
    this.#answerStop();
    // At its deadline a call is answered though its handler runs: that is what abandoned means. Any other stop
    // is given the ladder first.
    if (reason.kind === 'deadline') this.#abandon();
    this.#ladder = ladder.then(() => this.#ladderDone());
    return true;
  }

  /** Tells the call that its handler has shown progress: starts the deadline anew where that was asked for. */
  progressed(): void {
    const { timeoutMs, resetTimeoutOnProgress, maxTotalTimeoutMs = timeoutMs * CEILING_FACTOR } = this.#options ?? NONE;
    if (resetTimeoutOnProgress === true) this.#deadline?.extend(maxTotalTimeoutMs);
  }

  /** Stops the clock of the deadline, such as while a user is being asked, until as many `resume` have come. */
  pause(): void {
    this.#deadline?.pause();
  }

  resume(): void {
    this.#deadline?.resume();
  }

  /**
   * The operator's way out: all that the call holds in the slots passes on, a mutex too, although its handler runs on
   * or its work is `unknown`. Does not end anything: whoever comes next may meet it in there.
   *
   * @returns false when it held nothing
   */
  release(): boolean {
    return this.#place?.release() ?? false;
  }

  /** Work that belongs to this call, and ends with it however it ends. */
  adopt(work: Work): void {
    this.#workload ??= new Workload();
    this.#workload.add(work, () => this.#maybeQuiet());
    if (this.#stop !== undefined) work.signal(this.#stop.reason);
  }

  /** Gives the call up before its handler was started: nobody will run it. */
  discard(): void {
    if (this.#state !== 'queued' || this.#options !== undefined) return;
    this.#enter('failed');
    this.#leave();
  }

  /** The ladder's, see `Climber`. */
  fire(): void {
    if (this.#controller !== undefined) {
      this.#stop?.observed();
      this.#controller.abort(this.#stop?.reason);
    }
    const listeners = this.#stopListeners;
    this.#stopListeners = undefined;
    if (listeners === undefined || listeners.size === 0) return;
    this.#stop?.observed();
    for (const listener of listeners) this.#stop?.tell(listener);
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

  #ask(gate: Gate | undefined): void {
    const { slots } = this.#host;
    const callers = this.parent === undefined ? undefined : this.parent.#place;
    if (slots.isUnlimited && gate === undefined && callers === undefined) {
      if (slots.isOverloaded) this.refused(slots.overloadOf(this));
      else this.admitted();
      return;
    }
    const place = slots.request(this, gate, callers);
    if (this.#state === 'queued') this.#place = place;
  }

  /** A handler's throw and its rejection are one thing. */
  #invoke(): Promise<unknown> {
    const handler = this.#handler as () => unknown;
    this.#handler = undefined;
    try {
      return Promise.resolve(handler());
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #refuse(reason: StopReason): void {
    this.#stop = new Stop(this, this.#host.clock, reason);
    this.#handler = undefined;
    this.#enter('refused');
    if (channels.refused.hasSubscribers) channels.refused.publish({ ...callEvent(this), reason });
    this.fire();
    this.#answerStop();
    this.#leave();
  }

  #answerStop(): void {
    const resolve = this.#resolve;
    const reject = this.#reject;
    const reason = this.reason;
    this.#resolve = undefined;
    this.#reject = undefined;
    if (resolve === undefined || reject === undefined || reason === undefined) return;
    const answerStop = this.#options?.answerStop;
    try {
      if (answerStop === undefined) throw reason;
      resolve(answerStop(this, reason));
    } catch (error) {
      reject(error);
    }
  }

  #settle(state: 'completed' | 'failed', result: unknown): void {
    this.#settled = true;
    this.#disarm();
    this.#stopListeners = undefined;
    this.#stop?.settled();
    if (this.#state === 'running') {
      this.#enter(state);
      (state === 'completed' ? this.#resolve : this.#reject)?.(result);
      this.#resolve = undefined;
      this.#reject = undefined;
    }
    if (channels.settled.hasSubscribers) channels.settled.publish({ ...callEvent(this), outcome: this.outcome() });
    if (this.#stop === undefined) {
      // Work ends with its call, also when the call ended well.
      if (hasEnded(this)) this.#leave();
      else this.#ladder = force(this, this.#host).then(() => this.#ladderDone());
    }
    this.#maybeQuiet();
  }

  #ladderDone(): void {
    if (hasEnded(this)) this.#end();
    else {
      // Also one that ended well and left work behind which the ladder could not end.
      if (this.#state !== 'abandoned') this.#abandon();
      void this.quiet.then(() => this.#end());
    }
  }

  #abandon(): void {
    if (this.#state === 'stopping') this.#enter('abandoned');
    if (this.#place !== undefined) this.#place.abandon();
    else {
      this.#isAbandonedUnplaced = true;
      this.#host.slots.abandonUnplaced();
    }
    if (channels.abandoned.hasSubscribers) channels.abandoned.publish({ ...callEvent(this), outcome: this.outcome() });
  }

  #end(): void {
    if (this.#state === 'stopping' || this.#state === 'abandoned') this.#enter('stopped');
    this.#leave();
  }

  #maybeQuiet(): void {
    if (this.#stop !== undefined && this.workFact === 'ended') this.#stop.proven();
    if (hasEnded(this)) this.#quiet?.resolve();
  }

  // Invariant: a call leaves exactly once, and has no timer when it does.
  #leave(): void {
    if (this.#left) return;
    this.#left = true;
    this.#disarm();
    this.#place?.leave();
    if (this.#isAbandonedUnplaced) this.#host.slots.endUnplaced();
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
