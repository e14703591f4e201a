/**
 * The code in the docs is code: every block marked `ts` in README.md and docs/ compiles, strictly, as a user's file
 * would, against the packages as they are built.
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
