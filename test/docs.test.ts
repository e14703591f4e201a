/**
 * The code in the docs is code: every block marked `ts` in README.md and docs/ compiles, strictly, as a user's file
 * would, against the packages as they are built. The numbers in the table of defaults are those of the sources; the
 * servers that the README begins with are those that the examples' tests start; and its table of set-ups is what the
 * matrix expects.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { EXPECTED } from '../matrix/src/expected.ts';

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

/** Files of `examples/http` of which the text has no block that is the same, to the letter. */
function notShownIn(text: string): string[] {
  const folder = join(root, 'examples/http');
  return readdirSync(folder).filter((name) => {
    return !text.includes(`\`\`\`ts\n${readFileSync(join(folder, name), 'utf8')}\`\`\`\n`);
  });
}

test('the servers over HTTP in the README are the files that the tests of the examples start', () => {
  expect(notShownIn(readFileSync(join(root, 'README.md'), 'utf8'))).toEqual([]);
});

test('one that differs in a single character is found', () => {
  const text = readFileSync(join(root, 'README.md'), 'utf8').replace('toolTimeoutMs: 20_000', 'toolTimeoutMs: 20_001');
  expect(notShownIn(text)).toEqual(['facade.ts']);
});

/** The rows of the README's table of set-ups, one for each set-up, without the probe's column. */
function setUpsIn(text: string): unknown {
  const lines = text.split('\n');
  const start = lines.findIndex((line) => line.startsWith('| the SDK alone |'));
  const rows = lines.slice(start + 2, lines.indexOf('', start)).map((line) => {
    const [, names = '', ...facts] = line
      .replaceAll('*', '')
      .split('|')
      .map((cell) => cell.trim());
    return { names: names.split('; '), facts: facts.slice(0, 4) };
  });
  return {
    bare: Object.fromEntries(rows.slice(0, -1).flatMap(({ names, facts }) => names.map((name) => [name, facts]))),
    protected: rows.at(-1)?.facts,
  };
}

/** The same, of what the matrix expects. */
function setUpsExpected(): unknown {
  const all = Object.entries(EXPECTED);
  const facts = [0, 1, 2, 3].map((n) => [...new Set(all.map(([, modes]) => modes.protected[n]))].sort().reverse());
  return {
    bare: Object.fromEntries(all.map(([name, { bare }]) => [name, bare.slice(0, 4)])),
    protected: facts.map((each) => each.join(', or ')),
  };
}

test("the README's table of set-ups is what the matrix expects of them, and another one would be seen", () => {
  const text = readFileSync(join(root, 'README.md'), 'utf8');
  expect(setUpsIn(text)).toEqual(setUpsExpected());
  for (const [cell, other] of [
    ['20 of 20', '19 of 20'],
    ['v1 stdio |', 'v1 |'],
    ['0 of 20, or -', '1 of 20, or -'],
  ] as const) {
    expect(setUpsIn(text.replace(cell, other))).not.toEqual(setUpsExpected());
  }
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
  'http.disconnectGraceMs': ['sdk/http/callers.ts', /DEFAULT_DISCONNECT_GRACE_MS = ([\d_]+)/],
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
