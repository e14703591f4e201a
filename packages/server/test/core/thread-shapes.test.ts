/** Threads that listen to nothing, on a real clock: what ends them, what does not, and that neither is called the other. */
import { pbkdf2Sync } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Call, type Clock, cancelled, Engine, type Progress, runInThread, systemClock } from '@estop/server/core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { VirtualClock } from '../support/virtual-clock.ts';
import { latch, soon, turns } from '../support/waiting.ts';

const SHAPES = new URL('../subjects/thread-shapes.mjs', import.meta.url).href;

interface Threaded {
  readonly call: Call;
  /** Resolves with what the thread reports first. */
  readonly up: Promise<string>;
  readonly left: Promise<void>;
}

function start(name: string, args: unknown = {}, clock: Clock = systemClock): Threaded {
  const engine = new Engine({ graceMs: 0, cleanupMs: Infinity, clock });
  const [up, left] = [latch<string>(), latch()];
  const owner = { left: () => left.open() };
  const call = engine.begin({ scope: 'connection:1', id: 1, method: 'tools/call', name, owner });
  const onProgress = ({ message }: Progress) => up.open(message ?? '');
  const ran = call.run(() => runInThread(call, { module: SHAPES, export: name, args, onProgress }), {
    timeoutMs: Infinity,
  });
  ran.catch(up.fail);
  up.promise.catch(() => {});
  onTestFinished(async () => {
    await engine.close();
    await soon(left.promise, `${name} leaves in the end`);
  });
  return { call, up: up.promise, left: left.promise };
}

test.each(['spin', 'badRegex', 'atomicsWait', 'microtasks'])('%s: ended, by the exit of its thread', async (name) => {
  const { call, up, left } = start(name);
  await soon(up, `${name} is up`);
  call.stop(cancelled('client'));
  expect(call.workFact).toBe('unknown');
  await soon(left, 'the call leaves');
  expect(call.outcome()).toMatchObject({ state: 'stopped', handler: 'settled', work: 'ended' });
});

describe('native code that does not return: unknown while it runs, and ended when its thread has exited', () => {
  test.runIf(process.platform === 'linux')('pbkdf2Sync', async () => {
    // The ladder waits a second for an exit: on this clock no longer than it takes to say so.
    const clock = new VirtualClock();
    const { call, up, left } = start('pbkdf2', { iterations: iterationsOf(2_000) }, clock);
    const thread = await soon(up, 'the thread is up');
    const before = cpuTicksOf(thread);
    await expect.poll(() => cpuTicksOf(thread) - before, { timeout: 10_000 }).toBeGreaterThan(10);
    call.stop(cancelled('client'));
    await turns();
    clock.advance(0);
    await turns();
    clock.advance(1_000);
    await soon(call.ladder, 'the ladder is done');
    expect(call.outcome()).toMatchObject({ state: 'abandoned', work: 'unknown' });
    await soon(left, 'the call leaves');
    expect(call.outcome()).toMatchObject({ state: 'stopped', work: 'ended' });
  });

  test.skipIf(process.platform === 'win32')('execSync', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'estop-test-'));
    const letGo = () => rmSync(directory, { recursive: true, force: true });
    const up = join(directory, 'up');
    const { call, left } = start('execSyncWhile', { up });
    onTestFinished(letGo);
    await expect.poll(() => existsSync(up), { timeout: 10_000 }).toBe(true);
    call.stop(cancelled('client'));
    await soon(call.ladder, 'the ladder is done');
    expect(call.outcome()).toMatchObject({ state: 'abandoned', work: 'unknown' });
    letGo();
    await soon(left, 'the call leaves');
    expect(call.outcome()).toMatchObject({ state: 'stopped', work: 'ended' });
  });
});

/** Of `PID/task/TID`: none of the few lines before its native code take as long as a tick. */
function cpuTicksOf(thread: string): number {
  const stat = readFileSync(`/proc/${thread}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[11]);
}

/** How many take so much of a CPU, however busy that is; it need not be exact. */
function iterationsOf(ms: number): number {
  const some = 20_000;
  const before = process.cpuUsage();
  pbkdf2Sync('password', 'salt', some, 64, 'sha512');
  return Math.ceil((some * ms) / (process.cpuUsage(before).user / 1_000));
}
