/** The script runs, and it can fail: by a wrong expectation, and by subjects that are not what they are said to be. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test, vi } from 'vitest';
import { EXPECTED } from '../src/expected.ts';
import { report } from '../src/report.ts';
import { type RowsOptions, rowsOf } from '../src/rows.ts';
import { SETUPS } from '../src/setups.ts';

vi.setConfig({ testTimeout: 90_000 });

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const BROKEN = new URL('broken/never-protected.mjs', import.meta.url).href;
const out = mkdtempSync(join(tmpdir(), 'estop-matrix-'));
afterAll(() => rmSync(out, { recursive: true, force: true }));
const run: RowsOptions = { expected: EXPECTED, out, signal: new AbortController().signal, onRow: () => {} };

function matrix(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8', cwd: out, env: { ...process.env, ...env } });
}

test('a row for each mode of a set-up, on stdout, and exit code 0 when both are as expected', () => {
  const { stdout, stderr, status } = matrix(['--only', 'v1 stdio']);
  expect(stdout.split('\n').map((line) => line.trimEnd())).toEqual([
    '                     cancelled  hung up on  after a cancel  left open  the probe',
    'v1 stdio  bare       stops      goes on     silence         -          6 of 6',
    '          protected  stops      stops       silence         -          6 of 6',
    '',
    expect.stringContaining('cancelled, hung up on: '),
    expect.stringContaining('left open: '),
    '',
    'All 2 as expected.',
    '',
  ]);
  expect(stderr).toContain('v1 stdio, bare: as expected\n');
  expect(status).toBe(0);
});

test('subjects that are bare and should be protected fail the script, which names them and what is wrong', () => {
  const args = ['--only', 'v2 stateful', '--only', 'legacy leg', '--protected'];
  const { stdout, status } = matrix(args, { NODE_OPTIONS: `--import=${BROKEN}` });
  const [, stateful, stateless] = stdout.split(/\n(?=v2 [^\n]*, protected\n)/);
  expect(stateful).toContain('v2 stateful legacy, protected\n');
  expect(stateful).toContain('hung up on: expected "stops", found "goes on"');
  expect(stateful).toContain('left open: expected "0 of 20", found "20 of 20"');
  expect(stateless).toContain('v2 handler, legacy leg, protected\n');
  expect(stateless).toContain('cancelled: expected "stops", found "goes on"');
  expect(stateless).toContain('after a cancel: expected "silence", found "an answer"');
  expect(stateless).toContain('the probe: expected "6 of 6", found "3 of 6"');
  expect(status).toBe(1);
});

test('whatever column is expected otherwise is a difference of its own, with the log of the probe beside it', async () => {
  const setup = SETUPS.find(({ name }) => name === 'v2 stdio modern') ?? SETUPS[0];
  const wrong = ['goes on', 'goes on', 'an answer', '20 of 20', '3 of 6'] as const;
  const expected = { ...EXPECTED, [setup.name]: { bare: wrong, protected: wrong } };
  const rows = await rowsOf([{ setup, mode: 'protected' }], { ...run, expected });
  expect(rows[0]?.differences).toEqual([
    'cancelled: expected "goes on", found "stops"',
    'hung up on: expected "goes on", found "stops"',
    'after a cancel: expected "an answer", found "silence"',
    'left open: expected "20 of 20", found "-"',
    'the probe: expected "3 of 6", found "6 of 6"',
    expect.stringContaining("the probe's log is"),
  ]);
  expect(report(rows)).toContain('NOT as expected: 1 of 1\nv2 stdio modern, protected\n');
});

test('a subject that does not start is a row without facts', async () => {
  const setup = { ...SETUPS[0], subject: 'no-such-subject' };
  const [row] = await rowsOf([{ setup, mode: 'bare' }], run);
  expect(row).toMatchObject({ facts: undefined, differences: [expect.stringContaining('nothing was found out')] });
});

test.each([[['--only', 'v3 pigeon']], [['--no-such-option']]])('%s is no usage', (args) => {
  const { stdout, stderr, status } = matrix(args);
  expect(status).toBe(3);
  expect(stdout).toBe('');
  expect(stderr).toContain('  v2 handler, modern JSON\n');
});
