/**
 * A mutex whose holders start processes: the next one comes only when nothing of the one before is left, as those
 * processes see it themselves (`subjects/holder.sh`), and as the process table shows it.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Call, cancelled, Engine, type EngineOptions, type Gate } from '@estop/server/core';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { randomOf } from '../support/random.ts';
import { gone, killMarked, marked, newMark, sleeping } from '../support/survivors.ts';
import { latch, soon } from '../support/waiting.ts';

const HOLDER = fileURLToPath(new URL('../subjects/holder.sh', import.meta.url));
const SHAPES = ['plain', 'traps', 'setsid', 'daemon', 'late'] as const;
const FATES = ['listens', 'listens', 'returns', 'throws', 'is deaf'] as const;
const SEED = Number(process.env['ESTOP_SEED'] ?? Date.now() % 1_000_000);
const HOLDERS = Number(process.env['ESTOP_HOLDERS'] ?? 30);
/** ms: what a command needs to be what it is, and some more. */
const A_WHILE = 120;

type Shape = (typeof SHAPES)[number];

afterEach(killMarked);

describe.each([true, false])('control groups: %s', (cgroups) => {
  test(`${HOLDERS} holders with random stops: no two overlap, seed ${SEED}`, {
    timeout: 30_000 + HOLDERS * 2_000,
  }, async () => {
    const random = randomOf(SEED);
    const { engine, gate, log, args } = door({ cgroups, graceMs: 40, termMs: 50 });
    const before: Call[] = [];
    const broken: string[] = [];
    let stops = 0;
    const hold = async (id: number): Promise<void> => {
      const shape = random.of(SHAPES);
      const fate = random.of(FATES);
      const stopAfter = random.below(A_WHILE);
      const stays = random.below(A_WHILE);
      const timeoutMs = random.oneIn(3) ? 1 + random.below(A_WHILE) : Infinity;
      const call = engine.begin({ scope: 'connection:1', id, method: 'tools/call', name: shape });
      const handler = async (): Promise<void> => {
        for (const other of before) {
          if (other.handlerFact !== 'settled') broken.push(`${id}: the handler of ${other.id} runs`);
          if (other.workFact === 'unknown') broken.push(`${id}: the work of ${other.id} is unknown`);
        }
        if (marked().length > 0) broken.push(`${id}: ${marked().length} processes of ${before.at(-1)?.id} run`);
        before.push(call);
        const child = call.spawn('sh', args(id, shape, newMark()));
        if (random.oneIn(2)) void sleep(stopAfter).then(() => call.stop(cancelled('library')));
        if (fate === 'listens') {
          // If nothing else stops it.
          void sleep(stopAfter + stays).then(() => call.stop(cancelled('library')));
          await child.exited;
        }
        await sleep(stays);
        if (fate === 'throws') throw new Error('it failed');
        if (fate !== 'is deaf') return;
        await soon(call.ladder, 'the ladder is done');
        await sleep(stays);
      };
      await call.run(handler, { timeoutMs, gate }).catch(() => {});
      if (call.reason !== undefined) stops += 1;
    };
    await Promise.all(Array.from({ length: HOLDERS }, (_, index) => hold(index + 1)));
    await engine.close();
    await gone();
    expect(broken).toEqual([]);
    expect(log('overlap')).toEqual([]);
    // It was no walk in the park.
    expect(before.length).toBe(HOLDERS);
    expect(log('in').length).toBeGreaterThan(HOLDERS / 2);
    expect(stops).toBeGreaterThan(HOLDERS / 4);
  });

  test('it stays shut while a process of its answered and settled holder runs, and opens when that is over', async () => {
    const { engine, gate, log, args } = door({ cgroups, graceMs: 0, termMs: 600_000 });
    const first = await holder(engine, gate, args(1, 'traps', newMark()), 2);
    first.call.stop(cancelled('library'));
    await first.settled;
    expect(first.call.outcome()).toMatchObject({ handler: 'settled', work: 'unknown' });
    const next = engine.begin({ scope: 'connection:1', id: 2, method: 'tools/call', name: 'hold' });
    const entered = latch();
    const answer = next.run(async () => entered.open(), { timeoutMs: Infinity, gate });
    await sleep(A_WHILE);
    expect(next.state).toBe('queued');
    await killMarked();
    await soon(entered.promise, 'the next one is in');
    await answer;
    expect(marked()).toEqual([]);
    expect(log('overlap')).toEqual([]);
  });

  test('control: an operator releases it too early, and the overlap is seen', async () => {
    const { engine, gate, log, args } = door({ cgroups, graceMs: 0, termMs: 600_000 });
    const first = await holder(engine, gate, args(1, 'traps', newMark()), 2);
    first.call.stop(cancelled('library'));
    await first.settled;
    expect(first.call.release()).toBe(true);
    await holder(engine, gate, args(2, 'plain', newMark()), 1);
    expect(log('overlap')).toContain('overlap 2 1');
  });

  test('control: processes that are started past estop overlap, and that is seen', async () => {
    const { engine, gate, log, args } = door({ cgroups, graceMs: 0, termMs: 600_000 });
    const call = engine.begin({ scope: 'connection:1', id: 1, method: 'tools/call', name: 'hold' });
    const mark = newMark();
    await call.run(
      async () => {
        spawn('sh', args(1, 'setsid', mark), { stdio: 'ignore' }).unref();
        await sleeping(mark, 2);
      },
      { timeoutMs: Infinity, gate },
    );
    await holder(engine, gate, args(2, 'plain', newMark()), 1);
    expect(log('overlap')).toContain('overlap 2 1');
  });
});

interface Door {
  readonly engine: Engine;
  readonly gate: Gate;
  /** The lines of the log that begin with that. */
  log(what: 'in' | 'overlap'): string[];
  args(id: number, shape: Shape, mark: string): string[];
}

function door(options: EngineOptions): Door {
  const folder = mkdtempSync(join(tmpdir(), 'estop-mutex-'));
  const path = join(folder, 'log');
  const engine = new Engine({ cleanupMs: Infinity, queueTimeoutMs: Infinity, ...options });
  onTestFinished(async () => {
    const closed = engine.close();
    await killMarked();
    await soon(closed, 'the engine closes');
    rmSync(folder, { recursive: true });
  });
  return {
    engine,
    gate: engine.slots.mutex('door'),
    log: (what) =>
      readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line.startsWith(what)),
    args: (id, shape, mark) => [HOLDER, path, String(id), shape, mark],
  };
}

/** A call that is in, with so many processes, and settles at its stop. */
async function holder(
  engine: Engine,
  gate: Gate,
  args: string[],
  processes: number,
): Promise<{ call: Call; settled: Promise<unknown> }> {
  const call = engine.begin({ scope: 'connection:1', id: 7, method: 'tools/call', name: 'hold' });
  const settled = call
    .run(async () => void (await call.spawn('sh', args).exited), { timeoutMs: Infinity, gate })
    .catch(() => {});
  await sleeping(args.at(-1) as string, processes);
  return { call, settled };
}
