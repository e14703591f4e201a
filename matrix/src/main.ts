/**
 * `npm run matrix -- [--only NAME]... [--bare] [--protected]`: what stops, in each set-up of the official SDKs, without
 * estop and with it.
 *
 * stdout has the table and what is not as expected, stderr each row as it is done. Exit codes: 0 every row is as
 * expected, 1 one is not; 3 usage; 130 interrupted.
 */
import { parseArgs } from 'node:util';
import { EXPECTED } from './expected.ts';
import { report, sentence } from './report.ts';
import { rowsOf, type Subject } from './rows.ts';
import { MODES, SETUPS } from './setups.ts';

const interrupt = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => interrupt.abort(new Error(`interrupted by ${signal}`)));
}

const subjects = whatIsAsked();
process.exitCode = subjects === undefined ? 3 : await run(subjects);

async function run(asked: readonly Subject[]): Promise<number> {
  try {
    const rows = await rowsOf(asked, {
      expected: EXPECTED,
      out: 'estop-runs',
      signal: interrupt.signal,
      onRow: (row) => process.stderr.write(`${sentence(row)}\n`),
    });
    process.stdout.write(`${report(rows)}\n`);
    return rows.every(({ differences }) => differences.length === 0) ? 0 : 1;
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    process.stderr.write(`matrix: ${interrupt.signal.reason.message}\n`);
    return 130;
  }
}

/** @returns `undefined` when it cannot be understood, and has been said so */
function whatIsAsked(): Subject[] | undefined {
  try {
    const { values } = parseArgs({
      options: {
        only: { type: 'string', multiple: true, default: [''] },
        bare: { type: 'boolean', default: false },
        protected: { type: 'boolean', default: false },
      },
    });
    const setups = SETUPS.filter(({ name }) => values.only.some((part) => name.includes(part)));
    if (setups.length === 0) throw new Error(`no set-up is named ${values.only.join(', ')}`);
    const asked = MODES.filter((mode) => values[mode]);
    const modes = asked.length === 0 ? MODES : asked;
    return setups.flatMap((setup) => modes.map((mode) => ({ setup, mode })));
  } catch (error) {
    const names = SETUPS.map(({ name }) => `  ${name}`).join('\n');
    process.stderr.write(
      `matrix: ${error instanceof Error ? error.message : String(error)}\n` +
        `usage: npm run matrix -- [--only NAME]... [--bare] [--protected]\nNAME, or a part of one:\n${names}\n`,
    );
    return undefined;
  }
}
