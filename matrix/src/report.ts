/** Rows for people. */
import { tableRows } from 'estop/report';
import { COLUMNS } from './facts.ts';
import type { Row } from './rows.ts';

const HEADS = ['', '', ...COLUMNS].map((head) => ({ head }));

/** The table, and below it what is not as expected. */
export function report(rows: readonly Row[]): string {
  const lines = tableRows(
    HEADS,
    rows.map(({ setup, mode, facts, differences }, n) => [
      rows[n - 1]?.setup === setup ? '' : setup.name,
      differences.length === 0 ? mode : `${mode} !`,
      ...(facts ?? []),
    ]),
    { indent: 0 },
  ).flat();
  const wrong = rows.filter(({ differences }) => differences.length > 0);
  const last =
    wrong.length === 0
      ? [`All ${rows.length} as expected.`]
      : [`NOT as expected: ${wrong.length} of ${rows.length}`, ...wrong.flatMap(explained)];
  return [...lines, '', ...last].join('\n');
}

/** A row as it is done. */
export function sentence({ setup, mode, differences }: Row): string {
  return `${setup.name}, ${mode}: ${differences.length === 0 ? 'as expected' : 'NOT as expected'}`;
}

function explained(row: Row): string[] {
  return [`${row.setup.name}, ${row.mode}`, ...row.differences.map((difference) => `  ${difference}`)];
}
