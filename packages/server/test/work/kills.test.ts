/**
 * Random starts and kills, the server's own SIGKILL among them: no process survives. A few in each run of the tests;
 * `npm run kills` does it for longer. The seed is in the name, and repeats it.
 */
import { afterEach, expect, test } from 'vitest';
import { kills } from '../support/kills.ts';
import { killMarked, marked } from '../support/survivors.ts';

const STARTS = Number(process.env['ESTOP_STARTS'] ?? 120);
const SEED = Number(process.env['ESTOP_SEED'] ?? Date.now() % 1_000_000);
const CGROUPS = process.env['ESTOP_CGROUPS'] as 'on' | 'off' | undefined;
/** Far more than one takes. */
const MS_FOR_EACH = 2_000;

afterEach(killMarked);

test(`${STARTS} random starts and kills leave no process behind, seed ${SEED}`, {
  timeout: 30_000 + STARTS * MS_FOR_EACH,
}, async () => {
  const tally = await kills(STARTS, SEED, CGROUPS);
  expect(marked()).toEqual([]);
  expect(tally.starts).toBe(STARTS);
  if (process.env['ESTOP_STARTS']) console.log(tally);
});
