/**
 * What a function that runs for a call can see of it, wherever it runs: here, in a thread, or in a process of its own.
 */
export interface CallContext {
  /** Fires when the call is stopped, with a `StopReason`. Never fires on normal completion. */
  readonly signal: AbortSignal;
  /** Whether the call has been stopped, by whatever reason; true at once also in a loop that never yields. */
  readonly isCancelled: boolean;
  /** @throws the `StopReason`, when the call has been stopped */
  throwIfStopped(): void;
  /** ms until the deadline, never below 0; `Infinity` without one. */
  remaining(): number;
  /** Tells the client, if it asked for progress. Does nothing after a stop, and never throws. */
  progress(progress: Progress): void;
  /** Writes to the client's log, if it has one. Does nothing after a stop, and never throws. */
  log(level: LogLevel, data: unknown, logger?: string): void;
  /**
   * Asks the user of a client of the legacy era, while the deadline stands still. A modern client cannot be asked in
   * the midst of a call.
   *
   * @returns what the user said; rejects with the client's or the SDK's error, where there is nobody to ask with an
   *   Error that says so, and with the `StopReason` when the call is stopped: then the client is told. Each rejection
   *   is handled, so it need not be awaited.
   */
  elicitInput(params: object, options?: AskOptions): Promise<Elicited>;
  /** Asks the model of a client of the legacy era; in all else as `elicitInput`. */
  requestSampling(params: object, options?: AskOptions): Promise<Sampled>;
  /** The context itself, for code that was written against `extra.signal`. */
  readonly extra: CallContext;
}

/** In a thread or in a process: also what a round of a call brings, whose rounds before had an `inputRequired` result. */
export interface IsolatedContext extends CallContext {
  readonly extra: IsolatedContext;
  /** What the client has answered, as it came: nobody has checked it. Absent in the first round. */
  readonly inputResponses?: Readonly<Record<string, unknown>>;
  /** What the round before has sent along: as the server has verified it, or else the client's word. */
  readonly requestState?: unknown;
}

/** As `notifications/progress` has it: `progress` grows, `total` may be unknown. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** The levels of syslog, as `notifications/message` has them. */
export type LogLevel = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency';

export interface AskOptions {
  /** Takes the question back when it aborts: the client is told. */
  readonly signal?: AbortSignal;
  /** ms that the client may take; default: the SDK's. */
  readonly timeout?: number;
}

export interface Elicited {
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly content?: Readonly<Record<string, unknown>>;
}

export interface Sampled {
  readonly role: 'user' | 'assistant';
  readonly model: string;
  readonly stopReason?: string;
  readonly content: unknown;
}
