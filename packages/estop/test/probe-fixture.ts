/** What the probe's tests share: directories that vanish, logs that close, and work that a test starts by hand. */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { AttemptEvent } from '../src/probe/events.ts';
import { type Log, openLog } from '../src/probe/log.ts';

export const WAIT_MS = 5_000;

export function tempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'estop-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export function tempLog(): Log {
  const log = openLog(join(tempDir(), 'log.jsonl'));
  onTestFinished(() => log.close());
  return log;
}

/** The names of an attempt's events, in order. */
export function events(log: Log, testId: string): string[] {
  return log.of(testId).map((line) => line.event);
}

/** Resolves when the attempt has `count` such lines; throws when it does not come to that. */
export async function seen(log: Log, testId: string, event: AttemptEvent['event'], count = 1): Promise<void> {
  const enough = () => log.of(testId).filter((line) => line.event === event).length >= count;
  if (!(await log.waitFor(testId, enough, WAIT_MS))) throw new Error(`no ${count} x ${event}: ${events(log, testId)}`);
}

export interface Request {
  readonly socket: Socket;
  /** What came back so far. */
  readonly received: () => string;
  /** All that came back, when the other side said something that matches. */
  readonly answer: (matches?: RegExp) => Promise<string>;
  readonly closed: Promise<void>;
}

/** An HTTP request over a bare socket: every byte that comes back is seen. */
export function send(
  url: string,
  { method = 'POST', headers = {} as Record<string, string>, body = '' } = {},
): Request {
  const { hostname, port, pathname } = new URL(url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', () => {});
  const head = Object.entries({
    host: `${hostname}:${port}`,
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  });
  socket.write(`${method} ${pathname} HTTP/1.1\r\n${head.map(([k, v]) => `${k}: ${v}\r\n`).join('')}\r\n${body}`);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return {
    socket,
    closed,
    received: () => text,
    answer: (matches = /^HTTP\/1\.1 \d+[\s\S]*\r\n\r\n/) =>
      new Promise((resolve, reject) => {
        const check = () => matches.test(text) && resolve(text);
        socket.on('data', check);
        socket.once('close', () => reject(new Error(`closed after ${JSON.stringify(text)}`)));
        check();
      }),
  };
}

export function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
}
