/** Threads and processes that are started ahead: who takes one, what comes in its place, and that they go. */
import { Engine, NodeProcess, type Spares, Thread } from '@estop/server/core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { KINDS, type Kind, runIsolated, TOOLS } from '../support/isolated.ts';
import { processEvents } from '../support/process-events.ts';
import { isAlive } from '../support/real.ts';
import { runSubject } from '../support/report.ts';
import { latch, soon, turns } from '../support/waiting.ts';

const subject = (name: string): string => new URL(`../subjects/${name}`, import.meta.url).href;

describe.each(KINDS)('spares: a %s that is started ahead', (kind) => {
  test('takes a call, and none is started for it; another one is started in its place', async () => {
    const { started, ready, run } = warm(kind, 1);
    await ready(1);
    expect(await run('add', { a: 1, b: 2 })).toEqual({ value: 3, by: 0 });
    expect(started).toHaveLength(2);
    await ready(2);
  });

  test('takes one call: the next has another, and what the first has left running is gone', async () => {
    const { ready, run, gone } = warm(kind, 1);
    await ready(1);
    expect(await run('leaveTimer')).toEqual({ value: 'returned', by: 0 });
    await gone(0);
    await ready(2);
    expect(await run('add', { a: 1, b: 2 })).toEqual({ value: 3, by: 1 });
  });

  test('may be taken before it is ready', async () => {
    expect(await warm(kind, 1).run('add', { a: 1, b: 2 })).toEqual({ value: 3, by: 0 });
  });

  test('is one of two, for four calls at once: each has one of its own', async () => {
    const { ready, run } = warm(kind, 2);
    await ready(2);
    const runs = await Promise.all([1, 2, 3, 4].map((n) => run('add', { a: n, b: 1 })));
    expect(runs.map(({ value }) => value)).toEqual([2, 3, 4, 5]);
    const by = runs.map(({ by }) => by);
    expect(by.slice(0, 2).toSorted()).toEqual([0, 1]);
    expect(new Set(by).size).toBe(4);
  });

  test('is replaced when it dies', async () => {
    const { started, ready, gone, run } = warm(kind, 1);
    await ready(1);
    void started[0]?.work.end();
    await gone(0);
    await ready(2);
    expect(await run('add', { a: 1, b: 2 })).toEqual({ value: 3, by: 1 });
  });

  test('is not replaced for ever, when its module dies each time right after its import; a call is tried all the same', async () => {
    const { started, gone, run } = warm(kind, 1, subject('dies-after-import.mjs'));
    for (let n = 0; n < 3; n += 1) await gone(n);
    await turns();
    expect(started).toHaveLength(3);
    expect((await run('fine')).error).toBeInstanceOf(Error);
    for (let n = 0; n < started.length; n += 1) await gone(n);
  });

  test('whose module cannot be imported is not replaced, and no crash; each call gets the error', async () => {
    const events = processEvents();
    const { started, gone, run } = warm(kind, 3, subject('throws-at-import.mjs'));
    for (let n = 0; n < 3; n += 1) await gone(n);
    await turns();
    expect(started).toHaveLength(3);
    for (let n = 0; n < 2; n += 1) {
      expect((await run('fine')).error).toMatchObject({ name: 'TypeError', message: 'thrown at import' });
      expect(started).toHaveLength(4 + n);
      await gone(3 + n);
    }
    await turns();
    expect(events.uncaught).toEqual([]);
    expect(events.unhandled).toEqual([]);
  });

  test('is not lost to arguments that cannot be cloned: that call fails, and the next is served', async () => {
    const { ready, run } = warm(kind, 1);
    await ready(1);
    expect((await run('add', { a: () => {} })).error).toMatchObject({
      message: expect.stringContaining('could not be cloned'),
    });
    expect((await run('add', { a: 1, b: 2 })).value).toBe(3);
  });

  test('is given a stop like any other', async () => {
    const { engine, ready, run } = warm(kind, 1);
    await ready(1);
    const running = run('spin', {}, 50);
    expect((await running).error).toMatchObject({ kind: 'deadline' });
    while (engine.stats().inFlight > 0) await turns();
  });

  test('goes with its engine, also one that is just being started; and none comes after that', async () => {
    const { engine, started, spares, ready, run } = warm(kind, 2);
    await ready(2);
    void run('add', { a: 1, b: 2 });
    await engine.close();
    const count = started.length;
    // Its wait is bounded; their end is not, on a busy machine.
    for (const { work } of started) await soon(work.ended, 'it ends');
    spares.keep(5);
    expect(engine.spares.keep('another', 1, () => start(kind, TOOLS))).toBeDefined();
    expect(started).toHaveLength(count);
  });

  test('keeps no process alive', async () => {
    const { code, stdout } = await runSubject('spares-idle.mjs', kind);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'a call had a spare: 3\n' });
  });
});

test('a process that is started ahead goes with a server that is killed', async () => {
  const { stdout } = await runSubject('spares-idle.mjs', 'process', 'kill');
  const pid = Number(stdout);
  expect(pid).toBeGreaterThan(0);
  while (isAlive(pid)) await new Promise(setImmediate);
});

interface Warm {
  readonly engine: Engine;
  readonly spares: Spares;
  /** Each that was started ahead, in order. */
  readonly started: readonly (Thread | NodeProcess)[];
  /** Resolves when so many of them have imported their module, in all. */
  ready(count: number): Promise<void>;
  /** Resolves when the `nth` has ended. */
  gone(nth: number): Promise<void>;
  run(name: string, args?: unknown, timeoutMs?: number): Promise<Ran>;
}

interface Ran {
  readonly value?: unknown;
  readonly error?: unknown;
  /** Which of those that were started ahead had the call; -1: none of them. */
  readonly by: number;
}

function start(kind: Kind, module: string): Thread | NodeProcess {
  return kind === 'thread' ? new Thread(module, null) : new NodeProcess(module, null, {});
}

function warm(kind: Kind, count: number, module = TOOLS): Warm {
  const engine = new Engine({ graceMs: 0, cleanupMs: Infinity });
  onTestFinished(() => engine.close());
  const started: (Thread | NodeProcess)[] = [];
  let readies = 0;
  let heard = latch();
  const spares = engine.spares.keep(module, count, () => {
    const body = start(kind, module);
    started.push(body);
    listenTo(body, () => {
      readies += 1;
      heard.open();
      heard = latch();
    });
    heard.open();
    heard = latch();
    return body;
  });
  const until = async (holds: () => boolean, what: string): Promise<void> => {
    while (!holds()) await soon(heard.promise, what);
  };
  return {
    engine,
    spares,
    started,
    ready: (least) => until(() => readies >= least, `${least} are ready`),
    async gone(nth) {
      await until(() => started.length > nth, `${nth} is started`);
      await soon(started[nth]?.work.ended ?? Promise.resolve(), `${nth} ends`);
    },
    async run(name, args = {}, timeoutMs = Infinity) {
      const call = engine.begin({ scope: 'connection:1', id: undefined, method: 'tools/call', name });
      let by = -1;
      const handler = (): Promise<unknown> => {
        const running = runIsolated(kind, call, { module, export: name, args, onProgress: () => {} }, { spares });
        by = started.findIndex(({ work }) => call.works.includes(work));
        return running;
      };
      return call.run(handler, { timeoutMs }).then(
        (value) => ({ value, by }),
        (error: unknown) => ({ error, by }),
      );
    },
  };
}

/** Hears of its readiness before its own listener, whoever that is. */
function listenTo(body: Thread | NodeProcess, ready: () => void): void {
  let listener = body.listener;
  Object.defineProperty(body, 'listener', {
    get: () =>
      listener && {
        ...listener,
        heard(message: { type: string }) {
          listener?.heard(message as never);
          if (message.type === 'ready') ready();
        },
        broke: (error: unknown) => listener?.broke(error),
        gone: (how: string) => listener?.gone(how),
      },
    set(next) {
      listener = next;
    },
  });
}
