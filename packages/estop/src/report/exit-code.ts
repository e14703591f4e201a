/**
 * The exit code of a run, from its cells; every cell counts, `baseline` and `held` too.
 *
 * Promises that nothing unseen is green: a run without a single judged cell is a failure. Does not look at notes or at
 * the list of unknowns: what they say is in the cells already.
 */
import type { ProbeResult } from '../probe/result.ts';

export const EXIT = { asExpected: 0, notStopped: 1, unknown: 2, failure: 3 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** What each code means, for the help and the reports. */
export const EXIT_MEANING: Readonly<Record<ExitCode, string>> = {
  0: 'all as expected',
  1: 'something leaked, raced or was noisy',
  2: 'nothing worse than unknown or invalid',
  3: 'usage, broken baseline or harness failure',
};

export function exitCode(result: ProbeResult): ExitCode {
  if (result.eras.length === 0 || result.eras.some((era) => era.cells.length === 0)) return EXIT.failure;
  const verdicts = new Set(result.eras.flatMap((era) => era.cells.map((cell) => cell.verdict)));
  if (verdicts.has('leaked') || verdicts.has('raced') || verdicts.has('noisy')) return EXIT.notStopped;
  if (verdicts.has('unknown') || verdicts.has('invalid')) return EXIT.unknown;
  return EXIT.asExpected;
}
