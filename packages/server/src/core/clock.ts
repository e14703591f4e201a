/**
 * Time as a parameter: the engine reads no other clock and sets no other timer.
 *
 * Promises that `now` never goes back. Does not promise that a timer fires on time: a blocked event loop fires nothing.
 */
export interface Clock {
  /** Milliseconds since some fixed moment; monotonic. */
  now(): number;
  /** Runs `run` once, `ms` from now; at most 2^31-1, the longest that a Node timer can hold. */
  setTimer(run: () => void, ms: number): TimerHandle;
  clearTimer(handle: TimerHandle): void;
  /** The same timer, which from now on keeps no process alive that has nothing else to do. */
  unref(handle: TimerHandle): TimerHandle;
  /** Takes `unref` back. */
  ref(handle: TimerHandle): TimerHandle;
}

export type TimerHandle = unknown;

/** The longest single timer, in ms: a larger one would fire at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  setTimer: (run, ms) => setTimeout(run, ms),
  clearTimer: (handle) => clearTimeout(handle as NodeJS.Timeout),
  unref: (handle) => (handle as NodeJS.Timeout).unref(),
  ref: (handle) => (handle as NodeJS.Timeout).ref(),
};
