/**
 * Reads the values of options: each reader returns a value that fits, or throws the one sentence that says why not.
 */
import { CASES, type CaseName } from '../probe/cases/table.ts';
import type { Era } from '../probe/events.ts';

/** A mistake in how the command was called: one sentence for stderr, exit code 3. */
export class UsageError extends Error {
  override name = 'UsageError';

  constructor(sentence: string) {
    super(`estop probe: ${sentence}`);
  }
}

const ERAS = ['auto', 'legacy', 'modern'] as const;
const LONGEST_TIMER = 2 ** 31 - 1;

export function wholeNumber(option: string, least: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= LONGEST_TIMER) return value;
    throw new UsageError(`${option} must be a whole number from ${least} to ${LONGEST_TIMER}, got "${text}"`);
  };
}

export function clientChoice(text: string): 'v1' | 'v2' {
  if (text === 'v1' || text === 'v2') return text;
  throw new UsageError(`--client must be v1 or v2, got "${text}"`);
}

export function eraChoice(text: string): 'auto' | Era {
  const era = ERAS.find((name) => name === text);
  if (era) return era;
  throw new UsageError(`--era must be one of ${ERAS.join(', ')}, got "${text}"`);
}

/** For an option that may be given many times. */
export function oneMoreCase(text: string, before: readonly CaseName[] = []): readonly CaseName[] {
  const found = CASES.find((name) => name === text);
  if (found) return [...before, found];
  throw new UsageError(`there is no case "${text}"; the cases are ${CASES.join(', ')}`);
}

export function jsonObject(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--args is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageError(`--args must be a JSON object, got ${text}`);
}
