/** Which process a worker is, and when it is gone: on this machine's `/proc`, on made-up ones, and without any. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { identify, isGone } from '../src/probe/witness/worker-process.ts';
import { tempDir } from './probe-fixture.ts';

const URL_OF_WORK = 'http://127.0.0.1:1/jobs/0a/t-1';

/** A process with this argument; it ends with its standard input. */
async function running(argument: string): Promise<ChildProcess & { pid: number }> {
  const child = spawn('/bin/sh', ['-c', 'echo here; read line', argument], { stdio: ['pipe', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child as typeof child & { pid: number };
}

/** A `/proc` with this process and one other. */
function made(pid: number) {
  const proc = tempDir();
  const write = (of: number, stat: string, cmdline = ''): void => {
    mkdirSync(join(proc, String(of)), { recursive: true });
    writeFileSync(join(proc, String(of), 'stat'), stat);
    writeFileSync(join(proc, String(of), 'cmdline'), cmdline);
  };
  write(process.pid, statLine({}));
  return {
    proc,
    write: (stat: Parameters<typeof statLine>[0]) => write(pid, statLine(stat), `node\0command.js\0${URL_OF_WORK}\0`),
    remove: () => rmSync(join(proc, String(pid)), { recursive: true }),
  };
}

function statLine({ name = 'node', state = 'S', threads = 11, startTime = 777 }): string {
  const between = Array.from({ length: 16 }, (_, n) => n).join(' ');
  return `1 (${name}) ${state} ${between} ${threads} 0 ${startTime} 1 2 3\n`;
}

/** A pid that no process has. */
const NOBODY = 2 ** 30;

describe('a process', () => {
  it('is known by its argument, with its start time, and gone when it has ended', async () => {
    const child = await running(URL_OF_WORK);
    const worker = identify(child.pid, URL_OF_WORK);
    expect(worker).toEqual({ pid: child.pid, startTime: expect.stringMatching(/^\d+$/) });
    expect(isGone(worker)).toBe(false);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(isGone(worker)).toBe(true);
  });

  it.each([
    ['that does not carry the URL', 'something else'],
    ['that carries more than it', `${URL_OF_WORK}0`],
  ])('%s is not believed to be the worker, and is never gone', async (_what, argument) => {
    const child = await running(argument);
    const worker = identify(child.pid, URL_OF_WORK);
    expect(worker).toEqual({ pid: child.pid, unchecked: expect.stringContaining(`no process ${child.pid}`) });
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(isGone(worker)).toBe(false);
  });

  it('that is there no more is not believed either', () => {
    const worker = identify(NOBODY, URL_OF_WORK);
    expect(worker.unchecked).toBeDefined();
    expect(isGone(worker)).toBe(false);
  });
});

describe('in /proc, a worker', () => {
  it('is gone when its pid is that of a later process', () => {
    const { proc, write } = made(NOBODY);
    write({});
    const worker = identify(NOBODY, URL_OF_WORK, proc);
    expect(worker).toEqual({ pid: NOBODY, startTime: '777' });
    expect(isGone(worker, proc)).toBe(false);
    write({ startTime: 778 });
    expect(isGone(worker, proc)).toBe(true);
  });

  it('may have any name', () => {
    const { proc, write } = made(NOBODY);
    write({ name: 'a) Z 1 (b c' });
    expect(isGone(identify(NOBODY, URL_OF_WORK, proc), proc)).toBe(false);
  });

  it.each([
    ['is gone as a zombie', { state: 'Z', threads: 1 }, true],
    ['is gone as a zombie that is being buried', { state: 'X', threads: 0 }, true],
    ['is not gone as a zombie whose other threads run on', { state: 'Z', threads: 4 }, false],
    ['is not gone while it is frozen', { state: 'T' }, false],
    ['is not gone while it waits for a disk', { state: 'D' }, false],
  ])('%s', (_behaviour, stat, gone) => {
    const { proc, write } = made(NOBODY);
    write({});
    const worker = identify(NOBODY, URL_OF_WORK, proc);
    write(stat);
    expect(isGone(worker, proc)).toBe(gone);
  });

  it('that cannot be seen any more is gone only if nobody has its pid', () => {
    const hidden = made(process.ppid);
    hidden.write({});
    const there = identify(process.ppid, URL_OF_WORK, hidden.proc);
    hidden.remove();
    expect(isGone(there, hidden.proc)).toBe(false);

    const ended = made(NOBODY);
    ended.write({});
    const gone = identify(NOBODY, URL_OF_WORK, ended.proc);
    ended.remove();
    expect(isGone(gone, ended.proc)).toBe(true);
  });
});

describe('without /proc, a worker', () => {
  it('is its pid alone, and gone when nobody has that', async () => {
    const proc = tempDir();
    const child = await running('x');
    const worker = identify(child.pid, URL_OF_WORK, proc);
    expect(worker).toEqual({ pid: child.pid });
    expect(isGone(worker, proc)).toBe(false);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(isGone(worker, proc)).toBe(true);
  });

  it('that nobody knows when it comes is unchecked', () => {
    const proc = tempDir();
    expect(isGone(identify(NOBODY, URL_OF_WORK, proc), proc)).toBe(false);
  });
});
