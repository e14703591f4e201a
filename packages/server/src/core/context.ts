/**
 * What a function that runs for a call can see of it, wherever it runs: here, or in a thread of its own.
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
  /** The context itself, for code that was written against `extra.signal`. */
  readonly extra: CallContext;
}

/** As `notifications/progress` has it: `progress` grows, `total` may be unknown. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}
