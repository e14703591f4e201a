/** A place where there are these SDKs of MCP and no other, with the package as it is published. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { type Child, startSubject } from './child.ts';
import type { Major } from './majors.ts';

const PACKAGES: Readonly<Record<Major, string>> = {
  v1: '@modelcontextprotocol/sdk',
  v2: '@modelcontextprotocol/server',
};

/** @param subject the name of a file in `test/subjects` */
export function startWithOnly(majors: readonly Major[], subject: string, env: Record<string, string>): Child {
  const root = mkdtempSync(join(tmpdir(), 'estop-sdks-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const modules = join(root, 'node_modules');
  const ours = join(modules, '@estop', 'server');
  for (const part of ['dist', 'package.json'])
    cpSync(inRepository(`packages/server/${part}`), join(ours, part), { recursive: true });
  mkdirSync(join(modules, '@modelcontextprotocol'));
  for (const major of majors) {
    symlinkSync(inRepository(`node_modules/${PACKAGES[major]}`), join(modules, PACKAGES[major]));
  }
  const copy = join(root, subject);
  cpSync(inRepository(`packages/server/test/subjects/${subject}`), copy);
  return startSubject(copy, env);
}

function inRepository(path: string): string {
  return fileURLToPath(new URL(`../../../../${path}`, import.meta.url));
}
