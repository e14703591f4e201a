/**
 * Would the packages work where they are installed? `node scripts/check-packages.mjs`, after a build.
 *
 * Asks publint (strictly) and "are the types wrong" (for ESM only) about each package as it would be packed, and whether
 * what would be packed is what the sources build: no file more, none less, and each way in can be imported. Uses no
 * network. Prints one line a check, and the whole output of a check that failed; exit code 1 then.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
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
    const problem = `${error ? `${error.message}\n` : ''}${stdout ?? ''}${stderr ?? ''}`;
    say(folder, name, status === 0 ? [] : [problem]);
  }
  const packed = packedFiles(folder);
  say(folder, 'contents', [...unlike(packed, expectedFiles(folder)), ...(await deadDoors(folder))]);
}

function say(folder, name, problems) {
  if (problems.length === 0) return console.log(`${folder}: ${name} finds nothing wrong`);
  console.error(`${folder}: ${name} fails\n${problems.join('\n')}`);
  process.exitCode = 1;
}

/** What a package runs in a shell: files as they are. */
function scriptsIn(folder) {
  const path = join(root, folder, 'sh');
  return existsSync(path) ? readdirSync(path).map((name) => `sh/${name}`) : [];
}

/** As npm would pack it; its lifecycle scripts are not run. */
function packedFiles(folder) {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const { stdout, stderr } = spawnSync('npm', args, { cwd: join(root, folder), encoding: 'utf8' });
  try {
    return JSON.parse(stdout)[0].files.map(({ path }) => path);
  } catch {
    throw new Error(`npm pack said no list of files in ${folder}: ${stderr}`);
  }
}

/** Of each source its JavaScript and its types, and what a package has beside its build. */
function expectedFiles(folder) {
  const names = readdirSync(join(root, folder, 'src'), { recursive: true, encoding: 'utf8' });
  const sources = names.filter((name) => name.endsWith('.ts')).map((name) => name.replace(/[.]ts$/, ''));
  const built = sources.flatMap((name) => [`dist/${name}.js`, `dist/${name}.d.ts`]);
  return [
    'LICENSE',
    'README.md',
    'package.json',
    ...Object.values(manifestOf(folder).bin ?? {}).map(relative),
    ...built,
    ...scriptsIn(folder),
  ];
}

function unlike(packed, expected) {
  const [inPack, wanted] = [new Set(packed), new Set(expected)];
  return [
    ...expected.filter((file) => !inPack.has(file)).map((file) => `not packed: ${file}`),
    ...packed
      .filter((file) => !wanted.has(file))
      .map((file) => `has no source: ${file} (of an older build? remove it)`),
  ];
}

/** Each of its `exports`, imported by the name under which others would. */
async function deadDoors(folder) {
  const { name, exports } = manifestOf(folder);
  const doors = Object.keys(exports).filter((door) => door !== './package.json');
  const tried = await Promise.allSettled(doors.map((door) => import(`${name}${door.slice(1)}`)));
  return tried.flatMap(({ reason }, n) => (reason === undefined ? [] : [`${name} ${doors[n]}: ${reason}`]));
}

function manifestOf(folder) {
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
}

function relative(path) {
  return path.replace(/^[.][/]/, '');
}
