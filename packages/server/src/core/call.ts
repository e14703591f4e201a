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
import type { CallHost, CallInit, Owner, RunOptions } from './call-options.ts';
import { callEvent, channels, LONGEST_NAME } from './channels.ts';
import { checkMs } from './checks.ts';
import { cleanText } from './clean.ts';
import { CEILING_FACTOR, Deadline, type Timed } from './deadline.ts';
import { climb, force } from './ladder/ladder.ts';
import { type Climber, hasEnded } from './ladder/rung.ts';
import type { CallState, HandlerFact, Outcome, RungName, WorkFact } from './outcome.ts';
import { deadline, overloaded, type StopReason } from './reason.ts';
import { createController } from './signal.ts';
import type { Gate, Place, SlotUser } from './slots/slots.ts';
import { Stop, type StopListener } from './stop.ts';
import { type ThreadOptions, thread } from './work/isolated/thread.ts';
import { type Child, type SpawnOptions, spawn } from './work/process/spawn.ts';
import type { Work } from './work/work.ts';
import { Workload } from './work/workload.ts';

const NONE: RunOptions = { timeoutMs: Infinity };

// Its members are private by type, not by `#`: one of these is made for each call, and `#` would cost 3 % of all of it.
export class Call implements Climber, SlotUser, Timed {
  readonly scope: string;
  readonly id: unknown;
  readonly method: string;
  readonly name: string | undefined;
  readonly owner: Owner | undefined;
  readonly parent: Call | undefined;

  private readonly _host: CallHost;
  private _state: CallState = 'queued';
  // Invariant: set at most once, together with the move to `stopping` or `refused`.
  private _stop: Stop | undefined;
  // Made when it is first looked at: most calls never look.
  private _controller: AbortController | undefined;
  private _stopListeners: Set<StopListener> | undefined;
  // Invariant: set at most once. A handler never starts after its stop.
  private _handler: (() => unknown) | undefined;
  private _options: RunOptions | undefined;
  private _place: Place | undefined;
  // Invariant: armed only while `running`.
  private _deadline: Deadline | undefined;
  private _workload: Workload | undefined;
  private _settled = false;
  private _left = false;
  private _isAbandonedUnplaced = false;
  private _ladder: Promise<void> | undefined;
  // Invariant: gone with the answer, so that a call is answered at most once.
  private _resolve: ((value: unknown) => void) | undefined;
  private _reject: ((error: unknown) => void) | undefined;
  private _waiting: { holds: (call: Climber) => boolean; resolve: () => void }[] | undefined;
  private _rung: RungName | undefined;

  constructor(host: CallHost, init: CallInit) {
    this._host = host;
    this.scope = init.scope;
    this.id = init.id;
    this.method = init.method;
    this.name = init.name;
    this.owner = init.owner;
    this.parent = init.parent;
  }

  get state(): CallState {
    return this._state;
  }

  /** Fires when the call is stopped, with the reason. Does not fire when the call ends normally. */
  get signal(): AbortSignal {
    if (this._controller === undefined) {
      this._controller = createController();
      if (this._stop !== undefined) this._controller.abort(this._stop.reason);
    }
    this._stop?.observed();
    return this._controller.signal;
  }

  get reason(): StopReason | undefined {
    return this._stop?.reason;
  }

  /** Whether the call has been stopped, by whatever reason; for loops that ask instead of listening. */
  get isCancelled(): boolean {
    this._stop?.observed();
    return this._stop !== undefined;
  }

  /** @throws the call's `StopReason`, when it has been stopped */
  throwIfStopped(): void {
    if (this.isCancelled) throw this.reason;
  }

  /** ms until the deadline, never below 0; `Infinity` without one, or before the handler has been started. */
  remaining(): number {
    if (this._stop !== undefined) return 0;
    return this._deadline?.remaining() ?? Infinity;
  }

  /**
   * Runs `listener` when the call is stopped, with the reason; at once when it has been. Never on normal completion.
   *
   * What it throws becomes a warning. Does not wait for what it returns: see `adopt` for work whose end matters.
   *
   * @returns takes the listener back
   */
  onStop(listener: StopListener): () => void {
    if (this._stop !== undefined) {
      this._stop.observed();
      this._stop.tell(listener);
    } else if (!this._settled) {
      this._stopListeners ??= new Set();
      const listeners = this._stopListeners;
      // A function of its own for each registration, so that one listener may be registered twice.
      const own: StopListener = (reason) => listener(reason);
      listeners.add(own);
      return () => void listeners.delete(own);
    }
    return () => {};
  }

  get handlerFact(): HandlerFact {
    return this._settled || this._state === 'queued' || this._state === 'refused' ? 'settled' : 'running';
  }

  get workFact(): WorkFact {
    return this._workload === undefined ? 'none' : this._workload.fact;
  }

  get works(): readonly Work[] {
    return this._workload === undefined ? [] : this._workload.works;
  }

  /** Whether `run` has been called; the handler may still have to wait. */
  get wasRun(): boolean {
    return this._options !== undefined;
  }

  /** Resolves when the ladder has done what it can; at once for a call that has not been stopped. */
  get ladder(): Promise<void> {
    return this._ladder ?? Promise.resolve();
  }

  outcome(): Outcome {
    return {
      state: this._state,
      handler: this.handlerFact,
      work: this.workFact,
      ...(this._rung !== undefined && { rung: this._rung }),
      ...this._stop?.facts(),
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
    if (this.wasRun || (this._state !== 'queued' && this._state !== 'refused')) {
      throw new Error(`estop: ${this.what} was started twice`);
    }
    // A deadline of `NaN` would fire at once, or never, and take its neighbours among the alarms with it.
    const { timeoutMs, maxTotalTimeoutMs } = options;
    if (typeof timeoutMs !== 'number' || !(timeoutMs >= 0)) checkMs(timeoutMs, `${this.what}: timeoutMs`);
    if (maxTotalTimeoutMs !== undefined) checkMs(maxTotalTimeoutMs, `${this.what}: maxTotalTimeoutMs`);
    this._options = options as RunOptions;
    return new Promise<T>((resolve, reject) => {
      this._resolve = resolve as (value: unknown) => void;
      this._reject = reject;
      if (this._state === 'refused') return this._answerStop();
      this._handler = handler;
      this._ask(options.gate);
    });
  }

  /** The slots': there is room. */
  admitted(place?: Place): void {
    this._place = place;
    this._enter('running');
    const { timeoutMs } = this._options as RunOptions;
    if (timeoutMs > 0 && timeoutMs !== Infinity) this._deadline = new Deadline(this._host.alarms, timeoutMs, this);
    // Each arm is a rejection handler too: what a handler throws after its stop is heard here, and goes nowhere.
    this._invoke().then(
      (value) => this._settle('completed', value),
      (error: unknown) => this._settle('failed', error),
    );
  }

  /** The deadline's: it is over. */
  timedOut(timeoutMs: number): void {
    this.stop(deadline(this.what, timeoutMs));
  }

  /** The slots': there is no room, and will be none in time. */
  refused(message: string): void {
    this._refuse(overloaded(message));
  }

  /**
   * Stops the call: fires its signal now, has the caller's wait end now, and lets the ladder do the rest.
   *
   * @returns false when there is nothing to stop: it was answered, refused, or stopped before. First wins, once.
   */
  stop(reason: StopReason): boolean {
    if (this._state === 'queued') {
      this._place?.withdraw();
      this._refuse(reason);
      return true;
    }
    if (this._state !== 'running') return false;
    this._stop = new Stop(this, this._host.clock, reason);
    this._disarm();
    this._enter('stopping');
    if (channels.recorded.hasSubscribers) channels.recorded.publish({ ...callEvent(this), reason });
    const ladder = climb(this, this._host);
    this._answerStop();
    // At its deadline a call is answered though its handler runs: that is what abandoned means. Any other stop
    // is given the ladder first.
    if (reason.kind === 'deadline') this._abandon();
    this._ladder = ladder.then(() => this._ladderDone());
    return true;
  }

  /** Tells the call that its handler has shown progress: starts the deadline anew where that was asked for. */
  progressed(): void {
    const { timeoutMs, resetTimeoutOnProgress, maxTotalTimeoutMs = timeoutMs * CEILING_FACTOR } = this._options ?? NONE;
    if (resetTimeoutOnProgress === true) this._deadline?.extend(maxTotalTimeoutMs);
  }

  /** Stops the clock of the deadline, such as while a user is being asked, until as many `resume` have come. */
  pause(): void {
    this._deadline?.pause();
  }

  resume(): void {
    this._deadline?.resume();
  }

  /**
   * The operator's way out: all that the call holds in the slots passes on, a mutex too, although its handler runs on
   * or its work is `unknown`. Does not end anything: whoever comes next may meet it in there.
   *
   * @returns false when it held nothing
   */
  release(): boolean {
    return this._place?.release() ?? false;
  }

  /** A command that belongs to this call, and ends with it, with all that it starts: see `spawn`. */
  spawn(command: string, args: readonly string[] = [], options: SpawnOptions = {}): Child {
    return spawn(this, command, args, options, this._host.cgroups);
  }

  /** A function in a thread that belongs to this call, and ends with it: see `thread` in `work/isolated/thread.ts`. */
  thread(module: string | URL, data?: unknown, options?: ThreadOptions): Promise<unknown> {
    return thread(this, module, data, options);
  }

  /** Work that belongs to this call, and ends with it however it ends. */
  adopt(work: Work): void {
    this._workload ??= new Workload();
    this._workload.add(work, () => this._changed());
    if (this._stop !== undefined) work.signal(this._stop.reason);
  }

  /** Gives the call up before its handler was started: nobody will run it. */
  discard(): void {
    if (this._state !== 'queued' || this.wasRun) return;
    this._enter('failed');
    this._leave();
  }

  /** The ladder's, see `Climber`. */
  fire(): void {
    if (this._controller !== undefined) {
      this._stop?.observed();
      this._controller.abort(this._stop?.reason);
    }
    const listeners = this._stopListeners;
    this._stopListeners = undefined;
    if (listeners === undefined || listeners.size === 0) return;
    this._stop?.observed();
    for (const listener of listeners) this._stop?.tell(listener);
  }

  /** The ladder's, see `Climber`. */
  climbing(rung: RungName): void {
    this._rung = rung;
  }

  /** The ladder's, see `Climber`. */
  climbed(rung: RungName): void {
    if (channels.climbed.hasSubscribers)
      channels.climbed.publish({ ...callEvent(this), rung, outcome: this.outcome() });
  }

  /** The ladder's, see `Climber`. */
  until(holds: (call: Climber) => boolean): Promise<void> {
    if (holds(this)) return Promise.resolve();
    return new Promise((resolve) => {
      this._waiting ??= [];
      this._waiting.push({ holds, resolve });
    });
  }

  private _ask(gate: Gate | undefined): void {
    const { slots } = this._host;
    const callers = this.parent === undefined ? undefined : this.parent._place;
    if (slots.isUnlimited && gate === undefined && callers === undefined) {
      if (slots.isOverloaded) this.refused(slots.overloadOf(this));
      else this.admitted();
      return;
    }
    const place = slots.request(this, gate, callers);
    if (this._state === 'queued') this._place = place;
  }

  /** A handler's throw and its rejection are one thing. */
  private _invoke(): Promise<unknown> {
    const handler = this._handler as () => unknown;
    this._handler = undefined;
    try {
      return Promise.resolve(handler());
    } catch (error) {
      return Promise.reject(error);
    }
  }

  private _refuse(reason: StopReason): void {
    this._stop = new Stop(this, this._host.clock, reason);
    this._handler = undefined;
    this._enter('refused');
    if (channels.refused.hasSubscribers) channels.refused.publish({ ...callEvent(this), reason });
    this.fire();
    this._answerStop();
    this._leave();
  }

  private _answerStop(): void {
    const resolve = this._resolve;
    const reject = this._reject;
    const reason = this.reason;
    this._resolve = undefined;
    this._reject = undefined;
    if (resolve === undefined || reject === undefined || reason === undefined) return;
    const answerStop = this._options?.answerStop;
    try {
      if (answerStop === undefined) throw reason;
      resolve(answerStop(this, reason));
    } catch (error) {
      reject(error);
    }
  }

  private _settle(state: 'completed' | 'failed', result: unknown): void {
    this._settled = true;
    this._disarm();
    this._stopListeners = undefined;
    this._stop?.settled();
    if (this._state === 'running') {
      this._enter(state);
      (state === 'completed' ? this._resolve : this._reject)?.(result);
      this._resolve = undefined;
      this._reject = undefined;
    }
    if (channels.settled.hasSubscribers) channels.settled.publish({ ...callEvent(this), outcome: this.outcome() });
    if (this._stop === undefined) {
      // Work ends with its call, also when the call ended well.
      if (hasEnded(this)) this._leave();
      else this._ladder = force(this, this._host).then(() => this._ladderDone());
    }
    this._changed();
  }

  private _ladderDone(): void {
    if (hasEnded(this)) this._end();
    else {
      // Also one that ended well and left work behind which the ladder could not end.
      if (this._state !== 'abandoned') this._abandon();
      void this.until(hasEnded).then(() => this._end());
    }
  }

  private _abandon(): void {
    if (this._state === 'stopping') this._enter('abandoned');
    if (this._place !== undefined) this._place.abandon();
    else {
      this._isAbandonedUnplaced = true;
      this._host.slots.abandonUnplaced();
    }
    if (channels.abandoned.hasSubscribers) channels.abandoned.publish({ ...callEvent(this), outcome: this.outcome() });
  }

  private _end(): void {
    if (this._state === 'stopping' || this._state === 'abandoned') this._enter('stopped');
    this._leave();
  }

  /** The handler has settled, or a work has ended. */
  private _changed(): void {
    if (this._stop !== undefined && this.workFact === 'ended') this._stop.proven();
    this._waiting = this._waiting?.filter(({ holds, resolve }) => {
      if (!holds(this)) return true;
      resolve();
      return false;
    });
  }

  // Invariant: a call leaves exactly once, and has no timer when it does.
  private _leave(): void {
    if (this._left) return;
    this._left = true;
    this._disarm();
    this._place?.leave();
    if (this._isAbandonedUnplaced) this._host.slots.endUnplaced();
    this._host.left(this);
  }

  private _disarm(): void {
    this._deadline?.disarm();
    this._deadline = undefined;
  }

  private _enter(state: CallState): void {
    const from = this._state;
    this._state = state;
    this._host.moved(this, from, state);
  }
}
