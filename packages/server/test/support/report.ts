/** A subject that runs to its end and says what came of it, as one line of JSON on stdout. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** With `gc` at hand. Bounded by its test alone. */
export async function runSubject(name: string, ...args: string[]): Promise<Ended> {
  const path = fileURLToPath(new URL(`../subjects/${name}`, import.meta.url));
  const child = spawn(process.execPath, ['--expose-gc', path, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.stderr += text));
  const closed = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await closed;
  });
  const [code] = (await closed) as [number | null];
  return { code, ...said };
}

/** @throws with what it said on stderr, when it failed */
export async function reportOf(name: string, ...args: string[]): Promise<unknown> {
  const { code, stdout, stderr } = await runSubject(name, ...args);
  if (code !== 0) throw new Error(`${name} exited with code ${code}: ${stderr}`);
  return JSON.parse(stdout);
}
