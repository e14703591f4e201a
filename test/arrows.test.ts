/** The check on the house can fail; that the house as it stands passes is `npm run arrows`. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const CORE = 'packages/server/src/core';
const trees: string[] = [];

afterEach(() => {
  for (const tree of trees.splice(0)) rmSync(tree, { recursive: true, force: true });
});

/** The names of the rules that a tree of these files breaks. */
function brokenRules(files: Record<string, string>): string[] {
  const tree = mkdtempSync(join(tmpdir(), 'estop-arrows-'));
  trees.push(tree);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(tree, dirname(path)), { recursive: true });
    writeFileSync(join(tree, path), text);
  }
  const depcruise = join(root, 'node_modules', '.bin', 'depcruise');
  const config = join(root, '.dependency-cruiser.mjs');
  const { stdout } = spawnSync(depcruise, ['--config', config, '--output-type', 'json', ...Object.keys(files)], {
    cwd: tree,
    encoding: 'utf8',
  });
  const { summary } = JSON.parse(stdout) as { summary: { violations: { rule: { name: string } }[] } };
  return [...new Set(summary.violations.map(({ rule }) => rule.name))].sort();
}

test('arrows that run down pass', () => {
  const rules = brokenRules({
    [`${CORE}/reason.ts`]: `import { inspect } from 'node:util';\nexport const reason = inspect;\n`,
    'packages/server/src/serve/stdio.ts': `export { reason } from '../core/reason.ts';`,
    'packages/server/src/index.ts': `export * from './serve/stdio.ts';`,
    'packages/server/test/reason.test.ts': `import '../src/core/reason.ts';`,
  });
  expect(rules).toEqual([]);
});

const sdk = { 'packages/server/src/sdk/y.ts': 'export type Y = 1;\nexport const y = 1;\n' };
const probe = { 'packages/estop/src/probe/result.ts': 'export type R = 1;\nexport const r = 1;\n' };

test.each<[what: string, files: Record<string, string>, rule: string]>([
  ['an arrow that runs up', { ...sdk, [`${CORE}/x.ts`]: `import '../sdk/y.ts';` }, 'core-imports'],
  ['a type that runs up', { ...sdk, [`${CORE}/x.ts`]: `import type { Y } from '../sdk/y.ts';` }, 'core-imports'],
  ['a dynamic import that runs up', { ...sdk, [`${CORE}/x.ts`]: `await import('../sdk/y.ts');` }, 'core-imports'],
  ['a package in core', { [`${CORE}/x.ts`]: `import 'zod';` }, 'core-imports'],
  [
    'a value where only types are allowed',
    { ...probe, 'packages/estop/src/report/x.ts': `import { r } from '../probe/result.ts';\nexport const s = r;` },
    'report-imports-types-of-probe',
  ],
  [
    'a way round the front door',
    { ...sdk, 'examples/x.ts': `import '../packages/server/src/sdk/y.ts';` },
    'guests-use-the-front-door',
  ],
  ['a file in no room', { 'packages/server/src/attic/x.ts': `import 'node:fs';` }, 'in-a-room'],
  [
    'a circle',
    {
      [`${CORE}/a.ts`]: `import { b } from './b.ts';\nexport const a = () => b;`,
      [`${CORE}/b.ts`]: `import { a } from './a.ts';\nexport const b = () => a;`,
    },
    'no-circle',
  ],
  ['an import of nothing', { [`${CORE}/x.ts`]: `import './not-there.ts';` }, 'found'],
])('%s is found', (_, files, rule) => {
  expect(brokenRules(files)).toContain(rule);
});
