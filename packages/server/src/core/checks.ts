/**
 * Numbers and flags as people give them: checked where they are given, with an error that names the place.
 */
import { inspect } from 'node:util';

/**
 * @param where names the place for the error, such as `tool "scrape": timeoutMs`
 * @throws RangeError for anything that is not a number of milliseconds >= 0; `Infinity` is one
 */
export function checkMs(value: unknown, where: string): number {
  if (typeof value === 'number' && value >= 0) return value;
  throw new RangeError(`estop: ${where} must be a number of milliseconds >= 0, got ${show(value)}`);
}

/** @throws RangeError for anything but `Infinity` or an integer from `least` on */
export function checkCount(value: unknown, where: string, least: number): number {
  if (value === Infinity || (Number.isSafeInteger(value) && (value as number) >= least)) return value as number;
  throw new RangeError(`estop: ${where} must be an integer >= ${least} or Infinity, got ${show(value)}`);
}

/** @throws TypeError for anything but true and false */
export function checkFlag(value: unknown, where: string): boolean {
  if (typeof value === 'boolean') return value;
  throw new TypeError(`estop: ${where} must be true or false, got ${show(value)}`);
}

/** A bad value as an error shows it: a text in quotes, and never more than a few words. Never throws. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 50));
  try {
    return inspect(value, { depth: 0 }).slice(0, 50);
  } catch {
    return `something of type ${typeof value}`;
  }
}
