/** The check on leftovers can fail: each thing is really left behind, seen, taken away, and then no longer seen. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { holdings, leftAfter, whatIsLeft } from './setup/leftovers.ts';

const cookie = `ESTOP_TEST_COOKIE=${process.env['ESTOP_TEST_COOKIE']}`;
const RUNS_ON = 'setInterval(() => {}, 1000)';

const before = () => holdings(cookie);
const left = (then: ReturnType<typeof before>) => whatIsLeft(then, holdings(cookie));

test('nothing is left when nothing was started', () => {
  const then = before();
  expect(left(then)).toEqual([]);
});

test('a child process is named by its pid and its command line, until it has ended', async () => {
  const then = before();
  const child = spawn(process.execPath, ['-e', RUNS_ON], { stdio: 'ignore' });
  await once(child, 'spawn');

  expect(await seen(then, child)).toContain(`process ${child.pid} still runs: ${process.execPath} -e ${RUNS_ON}`);

  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await leftAfter(then, cookie, 3_000)).toEqual([]);
});

test('a process whose parent is gone is found by the cookie in its environment', async () => {
  const then = before();
  const parent = `
    const { spawn } = require('node:child_process');
    const child = spawn(process.execPath, ['-e', ${JSON.stringify(RUNS_ON)}], { detached: true, stdio: 'ignore' });
    console.log(child.pid); child.unref();`;
  const middle = spawn(process.execPath, ['-e', parent], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [pid] = await once(middle.stdout, 'data');
  if (middle.exitCode === null) await once(middle, 'exit');

  const orphan = Number(String(pid));
  expect(await leftAfter(then, cookie, 0)).toContain(`process ${orphan} still runs: ${process.execPath} -e ${RUNS_ON}`);

  process.kill(orphan, 'SIGKILL');
  expect(await leftAfter(then, cookie, 3_000)).toEqual([]);
});

test('a server that still listens is seen', async () => {
  const then = before();
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');

  expect(left(then)).toContain('TCPServerWrap: 1 active, 0 before');

  server.close();
  await once(server, 'close');
  expect(await leftAfter(then, cookie, 3_000)).toEqual([]);
});

test('a timer that will still fire is seen', () => {
  const then = before();
  const timer = setTimeout(() => {}, 60_000);

  expect(left(then)).toContainEqual(expect.stringMatching(/^Timeout: \d+ active, \d+ before$/));

  clearTimeout(timer);
  expect(left(then)).toEqual([]);
});

test('a thread that still runs is seen', async () => {
  const then = before();
  const worker = new Worker(RUNS_ON, { eval: true });
  await once(worker, 'online');

  expect(left(then)).toContain('threads: 1 run, 0 before');

  await worker.terminate();
  expect(await leftAfter(then, cookie, 3_000)).toEqual([]);
});

test('a listener on the process is seen, one too many and one too few', () => {
  const then = before();
  const listener = () => {};
  process.on('SIGTERM', listener);

  expect(left(then)).toContainEqual(expect.stringMatching(/^process\.on\('SIGTERM'\): \d listeners, \d before$/));
  expect(whatIsLeft(holdings(cookie), then)).toContainEqual(expect.stringContaining("process.on('SIGTERM')"));

  process.off('SIGTERM', listener);
  expect(left(then)).toEqual([]);
});

/** What is left, once the child's command line is its own: right after the fork it is still that of its parent. */
async function seen(then: ReturnType<typeof before>, child: ChildProcess): Promise<string[]> {
  for (;;) {
    const found = left(then);
    if (found.some((line) => line.includes(`process ${child.pid} `) && line.includes(' -e '))) return found;
    await new Promise((next) => setImmediate(next));
  }
}
