/**
 * Would the packages work where they are installed? `node scripts/check-packages.mjs`, after a build.
 *
 * Asks publint (strictly) and "are the types wrong" (for ESM only) about each package as it would be packed. Uses no
 * network. Prints one line a check, and the whole output of a check that failed; exit code 1 then.
 */
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PACKAGES = ['packages/server', 'packages/estop'];
const CHECKS = [
  { name: 'publint', args: (folder) => ['run', folder, '--strict'] },
  { name: 'attw', args: (folder) => ['--pack', folder, '--profile', 'esm-only', '--no-emoji', '--no-color'] },
];

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

for (const folder of PACKAGES) {
  for (const { name, args } of CHECKS) {
    const bin = join(root, 'node_modules', '.bin', name);
    const { status, stdout, stderr, error } = spawnSync(bin, args(folder), { cwd: root, encoding: 'utf8' });
    if (status === 0) {
      console.log(`${folder}: ${name} finds nothing wrong`);
      continue;
    }
    console.error(`${folder}: ${name} fails${error ? `: ${error.message}` : ''}\n${stdout ?? ''}${stderr ?? ''}`);
    process.exitCode = 1;
  }
}
