/**
 * `estop cases`: what the probe can ask, one row a case.
 */
import type { Command } from 'commander';
import { CASE_TABLE, CASES } from '../probe/cases/table.ts';
import { type Column, table } from '../report/table.ts';
import { colorsFor, widthOf } from './streams.ts';

const COLUMNS: readonly Column[] = [
  { head: 'case' },
  { head: 'expected' },
  { head: 'phase before the cancel' },
  { head: 'asks', wrap: true },
];

export function addCases(estop: Command): void {
  estop
    .command('cases')
    .description('list the cases: what each asks, and what should come out')
    .action(() => {
      const colors = colorsFor(process.stdout);
      const rows = CASES.map((name) => {
        const { asks, phase, expected } = CASE_TABLE[name];
        return [{ text: name, paint: colors.bold }, { text: expected, paint: colors.green }, phase, asks];
      });
      const lines = table(COLUMNS, rows, { width: widthOf(process.stdout), paintHead: colors.dim });
      process.stdout.write(`${lines.join('\n')}\n`);
    });
}
