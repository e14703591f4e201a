/**
 * The life test for longer: `npm run life -- [INTERLEAVINGS] [SEED]`, by default five million of a seed of the moment.
 * A failure prints its shortest list of steps, and the seed repeats it.
 */
import { spawnSync } from 'node:child_process';

const [interleavings = '5000000', seed = String(Date.now() % 1_000_000)] = process.argv.slice(2);
console.error(`${interleavings} interleavings of seed ${seed}`);
const { status } = spawnSync('npx', ['vitest', 'run', 'packages/server/test/core/life.property.test.ts'], {
  stdio: 'inherit',
  env: { ...process.env, ESTOP_INTERLEAVINGS: interleavings, ESTOP_SEED: seed },
});
process.exitCode = status ?? 1;
