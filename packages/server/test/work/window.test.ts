/**
 * Moments at which something could get away: between the start of a command and its registration with the reaper,
 * around the reaper's leave, and where a number is used again.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { cancelled, Engine } from '@estop/server/core';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { randomOf } from '../support/random.ts';
import { reportOf } from '../support/report.ts';
import { gone, killMarked, marked, newMark, over, sleeping, until } from '../support/survivors.ts';

const STARTS = fileURLToPath(new URL('../subjects/starts.mjs', import.meta.url));
const REAPER = fileURLToPath(new URL('../../sh/reaper.sh', import.meta.url));
const SEED = Number(process.env['ESTOP_SEED'] ?? Date.now() % 1_000_000);
const TIMES = Number(process.env['ESTOP_TIMES'] ?? 30);
/** At once: most of the time they wait for each other's starts. */
const LANES = 3;

afterEach(killMarked);
vi.setConfig({ testTimeout: 30_000 + TIMES * 2_000 });

describe.each(['on', 'off'])('control groups %s', (CGROUPS) => {
  test(`a server that kills itself in the turn in which it started a command: nothing is left, ${TIMES} times`, async () => {
    const marks = await many(TIMES, async (mark) => {
      const server = subject(CGROUPS, 'self', mark);
      expect(await once(server, 'exit')).toEqual([null, 'SIGKILL']);
    });
    await gone(...marks);
  });

  test(`a server that is killed at any moment of a burst of starts: nothing is left, ${TIMES} times, seed ${SEED}`, async () => {
    const random = randomOf(SEED);
    const marks = await many(TIMES, async (mark) => {
      const server = subject(CGROUPS, 'burst', mark);
      await once(server.stdout as NonNullable<typeof server.stdout>, 'data');
      const exit = once(server, 'exit');
      setTimeout(() => server.kill('SIGKILL'), random.below(80));
      await exit;
    });
    await gone(...marks);
  });

  test('a server that a call of another server has started: the end of that call is the end of all that is in it', async () => {
    const engine = new Engine({ cgroups: CGROUPS === 'on', graceMs: 0, termMs: 50 });
    const [mark, other] = [newMark(), newMark()];
    const call = engine.begin({ scope: 'here', id: 1, method: 'tools/call', name: 'outer' });
    const run = async () => (await call.spawn(process.execPath, [STARTS, 'hold', mark], env(CGROUPS)).exited).code;
    const answer = expect(call.run(run, { timeoutMs: Infinity })).rejects.toMatchObject({ kind: 'cancelled' });
    // Of another call of the same outer server.
    const next = engine.begin({ scope: 'here', id: 2, method: 'tools/call', name: 'next' });
    const held = next.run(() => next.spawn('sleep', [other]).exited, { timeoutMs: Infinity });
    await Promise.all([sleeping(mark, 13), sleeping(other, 1)]);
    engine.registry.record('here', 1, cancelled('library'));
    await answer;
    // The ladder is bounded, and a machine may be slow.
    await until(
      () => call.outcome().work,
      (work) => work !== 'unknown',
      () => 'it is known what has become of it',
    );
    expect(marked(mark)).toEqual([]);
    expect(marked(other)).toHaveLength(1);
    const stopped = expect(held).rejects.toMatchObject({ kind: 'shutdown' });
    await engine.close();
    await stopped;
    await gone();
  });

  test('such a server, when the outer one is killed', async () => {
    const mark = newMark();
    const engineOf = `
      import { Engine } from '@estop/server/core';
      const call = new Engine({ cgroups: ${CGROUPS === 'on'} }).begin({ scope: 'here', id: 1, method: 'm' });
      void call.run(() => call.spawn(process.execPath, ${JSON.stringify([STARTS, 'hold', mark])}).exited, { timeoutMs: Infinity });
    `;
    const outer = spawn(process.execPath, ['--input-type=module', '-e', engineOf], {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
      stdio: ['ignore', 'ignore', 'inherit'],
      ...env(CGROUPS),
    });
    const exit = once(outer, 'exit');
    await sleeping(mark, 13);
    outer.kill('SIGKILL');
    await exit;
    await gone(mark);
  });
});

test('a command that is started as the reaper is sent home is not taken with it', async () => {
  const { reapers } = (await reportOf('starts.mjs', 'idle', newMark(), '60')) as { reapers: number };
  // It was sent home, and many times.
  expect(reapers).toBeGreaterThan(10);
});

describe('a number that is used again: the reaper', () => {
  test('leaves a process that has the number of a group, and another start time', async () => {
    const { mark, pid, start } = await stranger();
    await reaper(`add ${pid} ${BigInt(start) - 1n}\n`);
    expect(marked(mark)).toEqual([pid]);
  });

  test('leaves one whose group was taken off its list', async () => {
    const { mark, pid, start } = await stranger();
    await reaper(`add ${pid} ${start}\nadd 4194303 1\ndel ${pid} ${start}\n`);
    expect(marked(mark)).toEqual([pid]);
  });

  test('leaves all when it was sent home', async () => {
    const { mark, pid, start } = await stranger();
    await reaper(`add ${pid} ${start}\nend\n`);
    expect(marked(mark)).toEqual([pid]);
  });

  test('control: with the right start time it ends it', async () => {
    const { mark, pid, start } = await stranger();
    await reaper(`add ${pid} ${start}\n`);
    await gone(mark);
  });
});

/** A process in a group of its own that estop has not started. */
async function stranger(): Promise<{ mark: string; pid: number; start: string }> {
  const mark = newMark();
  const child = spawn('sleep', [mark], { detached: true, stdio: 'ignore' });
  const exit = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exit;
  });
  const [pid] = (await sleeping(mark, 1)) as [number];
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return { mark, pid, start: stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] as string };
}

/** The real one, from its first line to its end. */
async function reaper(lines: string): Promise<void> {
  const child = spawn('/bin/sh', [REAPER, 'a-token-that-nothing-has', ''], { stdio: ['pipe', 'ignore', 'inherit'] });
  const exit = once(child, 'exit');
  child.stdin.end(lines);
  await exit;
  await over(child.pid as number);
}

function subject(CGROUPS: string, mode: string, mark: string): ChildProcess {
  return spawn(process.execPath, [STARTS, mode, mark], { stdio: ['ignore', 'pipe', 'inherit'], ...env(CGROUPS) });
}

function env(CGROUPS: string): { env: NodeJS.ProcessEnv } {
  return { env: { ...process.env, CGROUPS } };
}

/** Some at once; gives back their marks. */
async function many(times: number, once: (mark: string) => Promise<void>): Promise<string[]> {
  const marks = Array.from({ length: times }, newMark);
  const left = [...marks];
  const lane = async (): Promise<void> => {
    for (let mark = left.pop(); mark !== undefined; mark = left.pop()) await once(mark);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return marks;
}
