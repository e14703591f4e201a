/**
 * The rows of the matrix: one for each subject, with what is found and in what it differs from what is expected.
 */
import type { ProbeRun } from './cancelled.ts';
import type { Expected } from './expected.ts';
import { COLUMNS, type Facts, find } from './facts.ts';
import type { Mode, Setup } from './setups.ts';

export interface Subject {
  readonly setup: Setup;
  readonly mode: Mode;
}

export interface Row extends Subject {
  /** `undefined` when it could not be found out. */
  readonly facts: Facts | undefined;
  /** A sentence for each thing that is not as expected; empty when all is. */
  readonly differences: readonly string[];
}

export interface RowsOptions extends ProbeRun {
  readonly expected: Expected;
  readonly onRow: (row: Row) => void;
}

/** Each has two processes, and waits for them most of the time. */
const AT_A_TIME = 2;

/** In the order of the subjects, however they end. @throws the signal's reason, when it fired */
export async function rowsOf(subjects: readonly Subject[], options: RowsOptions): Promise<Row[]> {
  const rows: Row[] = [];
  const waiting = subjects.entries();
  const work = async (): Promise<void> => {
    for (const [n, subject] of waiting) {
      const row = await rowOf(subject, options);
      if (options.signal.aborted) return;
      rows[n] = row;
      options.onRow(row);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  options.signal.throwIfAborted();
  return rows;
}

async function rowOf(subject: Subject, { expected, ...run }: RowsOptions): Promise<Row> {
  const { setup, mode } = subject;
  try {
    const { facts, others, log } = await find(setup, mode, run);
    const differences = differ(facts, expected[setup.name][mode]);
    const evidence = differences.length === 0 ? [] : [...others, `the probe's log is ${log}`];
    return { ...subject, facts, differences: [...differences, ...evidence] };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { ...subject, facts: undefined, differences: [`nothing was found out: ${why}`] };
  }
}

function differ(facts: Facts, expected: Facts): string[] {
  return COLUMNS.flatMap((column, n) =>
    facts[n] === expected[n] ? [] : [`${column}: expected "${expected[n]}", found "${facts[n]}"`],
  );
}
