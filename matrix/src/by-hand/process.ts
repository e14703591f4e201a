/**
 * A subject's process. `end` leaves nothing of it; a subject starts no process of its own.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

export interface SubjectProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly exited: Promise<void>;
  /** What it said last, for an error's sentence. */
  lastWords(): string;
  end(): Promise<void>;
}

const POLL_MS = 20;
const START_MS = 20_000;

export function startProcess(
  [file = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
): SubjectProcess {
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(file, args, {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-1_000);
  });
  child.stdin.on('error', () => {});
  child.stdout.on('error', () => {});
  const exited = once(child, 'close').then(() => {});
  const killNow = (): void => void child.kill('SIGKILL');
  process.on('exit', killNow);
  return {
    stdin: child.stdin,
    stdout: child.stdout,
    exited,
    lastWords: () => stderr.trim(),
    async end() {
      killNow();
      await exited;
      process.off('exit', killNow);
    },
  };
}

/** A port that nobody has at this moment. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  return port;
}

/** Resolves when somebody listens there. @throws Error when nobody does in time, or the process has ended before */
export async function listening(port: number, subject: SubjectProcess): Promise<void> {
  let hasEnded = false;
  void subject.exited.then(() => {
    hasEnded = true;
  });
  for (const end = performance.now() + START_MS; performance.now() < end && !hasEnded; await delay(POLL_MS)) {
    if (await accepts(port)) return;
  }
  throw new Error(`the subject ${hasEnded ? 'ended' : 'did not listen'}: ${subject.lastWords()}`);
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
