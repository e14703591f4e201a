/**
 * Random starts and kills for longer: `npm run kills -- [STARTS] [SEED] [on|off]`, by default a thousand of a seed of the
 * moment, with control groups in every other server. A failure names the seed, the life, and what was started in it.
 */
import { spawnSync } from 'node:child_process';

const [starts = '1000', seed = String(Date.now() % 1_000_000), cgroups] = process.argv.slice(2);
console.error(`${starts} starts of seed ${seed}`);
const { status } = spawnSync('npx', ['vitest', 'run', 'packages/server/test/work/kills.test.ts'], {
  stdio: 'inherit',
  env: { ...process.env, ESTOP_STARTS: starts, ESTOP_SEED: seed, ...(cgroups && { ESTOP_CGROUPS: cgroups }) },
});
process.exitCode = status ?? 1;
