/** Rows for people. */
import { tableRows } from 'estop/report';
import { COLUMNS } from './facts.ts';
import type { Row } from './rows.ts';

const HEADS = ['', '', ...COLUMNS].map((head) => ({ head }));

const LEGEND = [
  'cancelled, hung up on: what a call does then. after a cancel: what of the call still crosses the wire.',
  'left open: requests of cancelled calls that the server has not ended. the probe: its cells that are as expected.',
];

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
  return [...lines, '', ...LEGEND, '', ...last].join('\n');
}

/** A row as it is done. */
export function sentence({ setup, mode, differences }: Row): string {
  return `${setup.name}, ${mode}: ${differences.length === 0 ? 'as expected' : 'NOT as expected'}`;
}

function explained(row: Row): string[] {
  return [`${row.setup.name}, ${row.mode}`, ...row.differences.map((difference) => `  ${difference}`)];
}
