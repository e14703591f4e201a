/**
 * How long a call may run: whose word counts, which values are good, and a timer of any length.
 *
 * A deadline ends the caller's wait and starts the stop. It does not end the work by itself: that is the ladder's part.
 */
import { inspect } from 'node:util';
import { type Clock, LONGEST_TIMER_MS, type TimerHandle } from './clock.ts';

/** The environment's word on every tool of a process, in ms. */
export const TIMEOUT_VARIABLE = 'ESTOP_TOOL_TIMEOUT_MS';

/**
 * Checks a timeout where it is given.
 *
 * @param where names it for the error, such as `tool "scrape": timeoutMs`
 * @returns the same milliseconds, with `0` and `Infinity` both as `Infinity`: no deadline
 * @throws RangeError for anything that is not a number of milliseconds >= 0
 */
export function checkTimeout(value: unknown, where: string): number {
  if (typeof value !== 'number' || Number.isNaN(value) || value < 0) {
    throw new RangeError(`estop: ${where} must be a number of milliseconds >= 0, got ${show(value)}`);
  }
  return value === 0 ? Infinity : value;
}

/** The environment's word, checked; `undefined` when it says nothing. */
export function timeoutFromEnvironment(env: Readonly<Record<string, string | undefined>>): number | undefined {
  const text = env[TIMEOUT_VARIABLE];
  if (text === undefined || text.trim() === '') return undefined;
  const value = text.trim() === 'Infinity' ? Infinity : /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text;
  return checkTimeout(value, `the environment variable ${TIMEOUT_VARIABLE}`);
}

/** The first that says anything: invocation, then tool, then server, then environment, then the default. */
export function firstGiven(...timeouts: readonly (number | undefined)[]): number {
  for (const timeout of timeouts) if (timeout !== undefined) return timeout;
  return Infinity;
}

/** One armed deadline. Fires at most once, never early, and never after `disarm`. */
export class Deadline {
  readonly #clock: Clock;
  readonly #expire: () => void;
  readonly #endsAt: number;
  #timer: TimerHandle | undefined;

  constructor(clock: Clock, timeoutMs: number, expire: () => void) {
    this.#clock = clock;
    this.#expire = expire;
    this.#endsAt = clock.now() + timeoutMs;
    this.#arm();
  }

  /** ms left, never below 0. */
  remaining(): number {
    return Math.max(0, this.#endsAt - this.#clock.now());
  }

  disarm(): void {
    if (this.#timer !== undefined) this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }

  // A timer longer than Node can hold would fire at once; so a long deadline is a chain of timers.
  #arm(): void {
    const left = this.#endsAt - this.#clock.now();
    this.#timer = this.#clock.setTimer(
      () => (this.#endsAt > this.#clock.now() ? this.#arm() : this.#end()),
      Math.min(Math.max(0, Math.ceil(left)), LONGEST_TIMER_MS),
    );
  }

  #end(): void {
    this.#timer = undefined;
    this.#expire();
  }
}

function show(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 50)) : inspect(value, { depth: 0 }).slice(0, 50);
}
