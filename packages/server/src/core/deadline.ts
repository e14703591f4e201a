/**
 * How long a call may run: whose word counts, which values are good, and a timer of any length that progress may
 * extend and that stands still while the user is being asked.
 *
 * A deadline ends the caller's wait and starts the stop. It does not end the work by itself: that is the ladder's part.
 */
import type { Alarm, Alarms } from './alarms.ts';
import { checkMs } from './checks.ts';

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
  return checkMs(value, where) || Infinity;
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

/** Progress may extend a deadline up to this many times its length, all told, where nobody says otherwise. */
export const CEILING_FACTOR = 10;

/** Hears, once, that its time is over. */
export interface Timed {
  timedOut(timeoutMs: number): void;
}

/**
 * One deadline. Is over at most once, never early, never while it is paused, and never after `disarm`.
 *
 * `extend` starts it anew, never past a ceiling. Time in which it was paused counts for neither.
 */
export class Deadline implements Alarm {
  dueAt: number;
  at = -1;
  private readonly _alarms: Alarms;
  private readonly _timed: Timed;
  private readonly _timeoutMs: number;
  // Made when it is first extended or paused: most deadlines never are.
  private _stretch: Stretch | undefined;

  constructor(alarms: Alarms, timeoutMs: number, timed: Timed) {
    this._alarms = alarms;
    this._timed = timed;
    this._timeoutMs = timeoutMs;
    this.dueAt = alarms.now() + timeoutMs;
    alarms.set(this, this.dueAt);
  }

  /** ms left, never below 0. */
  remaining(): number {
    return Math.max(0, this.dueAt - this._now());
  }

  /** Starts anew from now, but is over at the latest `ceilingMs` after its first start. Never shortens it. */
  extend(ceilingMs: number): void {
    const { startedAt, pauses } = this._stretched();
    const wanted = Math.min(this._now() + this._timeoutMs, startedAt + ceilingMs);
    if (wanted <= this.dueAt) return;
    this.dueAt = wanted;
    if (pauses === 0) this._alarms.set(this, wanted);
  }

  /** Stands still until as many `resume` have come as `pause`; one that is too many does nothing. */
  pause(): void {
    const stretch = this._stretched();
    stretch.pauses += 1;
    if (stretch.pauses > 1) return;
    stretch.pausedAt = this._alarms.now();
    this._alarms.unset(this);
  }

  resume(): void {
    const stretch = this._stretched();
    if (stretch.pauses === 0) return;
    stretch.pauses -= 1;
    if (stretch.pauses > 0) return;
    const stoodStill = this._alarms.now() - stretch.pausedAt;
    stretch.startedAt += stoodStill;
    this._alarms.set(this, this.dueAt + stoodStill);
  }

  disarm(): void {
    this._alarms.unset(this);
  }

  /** The alarms': it is due. */
  ring(): void {
    this._timed.timedOut(this._timeoutMs);
  }

  private _now(): number {
    return this._stretch !== undefined && this._stretch.pauses > 0 ? this._stretch.pausedAt : this._alarms.now();
  }

  private _stretched(): Stretch {
    this._stretch ??= { startedAt: this.dueAt - this._timeoutMs, pauses: 0, pausedAt: 0 };
    return this._stretch;
  }
}

interface Stretch {
  /** Later than its start by all the time in which it was paused. */
  startedAt: number;
  pauses: number;
  pausedAt: number;
}
