/**
 * The code in the docs is code: every block marked `ts` in README.md and docs/ compiles, strictly, as a user's file
 * would, against the packages as they are built. And the numbers in the table of defaults are those of the sources.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, test } from 'vitest';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const documents = ['README.md', ...markdownIn('docs')];

interface Block {
  readonly where: string;
  readonly code: string;
}

function markdownIn(folder: string): string[] {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.md')).map((name) => join(folder, name));
}

function blocksOf(document: string): Block[] {
  const text = readFileSync(join(root, document), 'utf8');
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => ({
    where: `${document}:${text.slice(0, match.index).split('\n').length}`,
    code: match[1] ?? '',
  }));
}

function problemsIn(blocks: readonly Block[]): string[] {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.base.json'), ts.sys.readFile);
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);
  Object.assign(options, { noEmit: true, composite: false, declaration: false });
  // Beside the examples, whose packages a user of estop would have.
  const files = new Map(blocks.map((block, n) => [join(root, 'examples', `docs-block-${n}.ts`), block]));
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (file) => files.has(file) || fileExists(file);
  host.readFile = (file) => files.get(file)?.code ?? readFile(file);
  host.getSourceFile = (file, target, ...rest) => {
    const block = files.get(file);
    return block ? ts.createSourceFile(file, block.code, target) : getSourceFile(file, target, ...rest);
  };
  return ts.getPreEmitDiagnostics(ts.createProgram([...files.keys()], options, host)).map((diagnostic) => {
    const where = files.get(diagnostic.file?.fileName ?? '')?.where ?? diagnostic.file?.fileName;
    return `${where}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, ' ')}`;
  });
}

test('every block of TypeScript in the docs compiles', () => {
  const blocks = documents.flatMap(blocksOf);
  expect(blocks.length).toBeGreaterThan(0);
  expect(problemsIn(blocks)).toEqual([]);
});

test('a block that does not compile is found, and named by its place', () => {
  expect(problemsIn([{ where: 'README.md:7', code: 'const wrong: number = "text";\nexport {};\n' }])).toEqual([
    expect.stringMatching(/^README\.md:7: Type 'string' is not assignable/),
  ]);
});

/** Where the numbers of the table are in the sources of the engine: a pattern's group is the number. */
const DEFAULTS: Readonly<Record<string, readonly [file: string, ...patterns: RegExp[]]>> = {
  spares: ['sdk/isolated.ts', /spares: ahead = ([\d_]+)/],
  toolTimeoutMs: ['facade/create-mcp-server.ts', /DEFAULT_TIMEOUT_MS = ([\d_]+)/],
  maxTotalTimeoutMs: ['core/deadline.ts', /CEILING_FACTOR = ([\d_]+)/],
  graceMs: ['core/engine.ts', /DEFAULT_GRACE_MS = ([\d_]+)/],
  termMs: ['core/engine.ts', /DEFAULT_TERM_MS = ([\d_]+)/],
  drainMs: ['core/engine.ts', /DEFAULT_DRAIN_MS = ([\d_]+)/],
  maxQueue: ['core/slots/limits.ts', /DEFAULT_MAX_QUEUE = ([\d_]+)/],
  queueTimeoutMs: ['core/slots/limits.ts', /DEFAULT_QUEUE_TIMEOUT_MS = ([\d_]+)/],
  maxAbandoned: [
    'core/slots/limits.ts',
    /LEAST_DEFAULT_MAX_ABANDONED = ([\d_]+)/,
    /MAX_ABANDONED_WITHOUT_A_LIMIT = ([\d_]+)/,
  ],
  'recorded.maxPerScope': ['core/recorded.ts', /\bmaxPerScope = ([\d_]+)/],
  'recorded.max': ['core/recorded.ts', /\bmax = ([\d_]+)/],
  'recorded.ttlMs': ['core/recorded.ts', /\bttlMs = ([\d_]+)/],
  cleanupMs: ['core/engine.ts', /DEFAULT_CLEANUP_MS = ([\d_]+)/],
};

test('the numbers in the table of defaults are those in the code', () => {
  const [, table = ''] = readFileSync(join(root, 'docs/runtime.md'), 'utf8').split('## Every option and its default');
  // Values in code marks are texts: `0.0.0`.
  const rows = table.matchAll(/^\| `([\w.]+)` \| (.*?) \|/gm);
  const told = [...rows].map(([, option, value = '']) => {
    return [option, (value.replace(/`.*?`/g, '').match(/\d[\d ]*/g) ?? []).map(numberOf)] as const;
  });
  const held = Object.entries(DEFAULTS).map(([option, [file, ...patterns]]) => {
    const source = readFileSync(join(root, 'packages/server/src', file), 'utf8');
    return [option, patterns.map((pattern) => numberOf(pattern.exec(source)?.[1] ?? ''))];
  });
  expect(Object.fromEntries(told.filter(([, numbers]) => numbers.length > 0))).toEqual(Object.fromEntries(held));
});

/** `10 000` and `10_000`; no number is `NaN`. */
function numberOf(text: string): number {
  return Number.parseInt(text.replace(/[ _]/g, ''), 10);
}
