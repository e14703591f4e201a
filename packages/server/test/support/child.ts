/** Real processes, which are gone when their test is. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Era, type Frame, Peer } from './peer.ts';
import { soon } from './waiting.ts';

interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Child {
  readonly process: ChildProcessWithoutNullStreams;
  /** What it has written to stderr so far. */
  readonly stderr: () => string;
  /** Resolves when it has written that to stderr. */
  said(text: string): Promise<void>;
  /** Resolves when it has exited and all that it wrote was read. */
  readonly exited: Promise<Exit>;
}

/** @param name in `subjects`, or an absolute path */
export function startSubject(name: string, env: Record<string, string> = {}): Child {
  const path = resolve(import.meta.dirname, '../subjects', name);
  const child = spawn(process.execPath, [path], { stdio: 'pipe', env: { ...process.env, ...env } });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    child.emit('said');
  });
  // A child that is gone does not read; its test sees that by its exit.
  child.stdin.on('error', () => {});
  const exited = once(child, 'close').then(([code, signal]) => ({ code, signal }) as Exit);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  return {
    process: child,
    stderr: () => stderr,
    exited: soon(exited, `${name} exits`),
    async said(text) {
      const gone = exited.then(() => {
        if (!stderr.includes(text)) throw new Error(`${name} exited without saying "${text}", but: ${stderr}`);
      });
      gone.catch(() => {});
      const wait = async () => {
        while (!stderr.includes(text)) await Promise.race([once(child, 'said'), gone]);
      };
      await soon(wait(), `${name} says "${text}"`);
    },
  };
}

/** The peer of a subject that is a server, over its real stdin and stdout. */
export class StdioPeer extends Peer {
  readonly child: Child;

  constructor(era: Era, child: Child) {
    super(era);
    this.child = child;
    let rest = '';
    child.process.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.read(JSON.parse(line) as Frame);
    });
  }

  /** All frames in one write to the pipe: they are read in one piece. */
  write(...frames: Frame[]): void {
    this.child.process.stdin.write(frames.map((frame) => `${JSON.stringify(frame)}\n`).join(''));
  }

  /** Closes the server's stdin, which is how a stdio client hangs up. */
  end(): void {
    this.child.process.stdin.end();
  }
}

export async function startServer(
  era: Era,
  env?: Record<string, string>,
  name = 'stdio-server.mjs',
): Promise<StdioPeer> {
  const peer = new StdioPeer(era, startSubject(name, env));
  await peer.initialize();
  return peer;
}
