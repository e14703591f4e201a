/** Every row of the matrix, run for real: what the official SDKs do, and that everything stops around which estop is. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { EXPECTED } from '../src/expected.ts';
import { rowsOf } from '../src/rows.ts';
import { MODES, SETUPS } from '../src/setups.ts';

vi.setConfig({ testTimeout: 90_000 });

const out = mkdtempSync(join(tmpdir(), 'estop-matrix-'));
afterAll(() => rmSync(out, { recursive: true, force: true }));

test.each(SETUPS)('$name: bare and protected, all is as expected', async (setup) => {
  const subjects = MODES.map((mode) => ({ setup, mode }));
  const { signal } = new AbortController();
  const rows = await rowsOf(subjects, { expected: EXPECTED, out, signal, onRow: () => {} });
  expect(rows.map(({ mode, differences }) => ({ mode, differences }))).toEqual([
    { mode: 'bare', differences: [] },
    { mode: 'protected', differences: [] },
  ]);
});
