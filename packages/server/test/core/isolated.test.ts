/** A function that runs for a call in a thread or in a process of its own: what crosses, and what ends it. */
import { type Call, cancelled, disconnected, type Progress } from '@estop/server/core';
import { describe, expect, test } from 'vitest';
import { startSubject } from '../support/child.ts';
import {
  ENDED,
  endOfGrace,
  type Isolated,
  isolatedRig,
  KINDS,
  LAST_RUNG,
  proofAfter,
  runIsolated,
  TOOLS,
} from '../support/isolated.ts';
import { processEvents } from '../support/process-events.ts';
import { isAlive } from '../support/real.ts';
import { type Answer, answerOf, GRACE_MS, type Rig, rig } from '../support/rig.ts';
import { latch, soon, turns } from '../support/waiting.ts';

describe.each(KINDS)('in a %s', (kind) => {
  const isolated = (options?: { graceMs: number }): Isolated => isolatedRig(kind, options);
  const ended = ENDED[kind];

  describe('a function', () => {
    test('gets its arguments, and its result comes back', async () => {
      const { run } = isolated();
      expect(await run('add', { a: 1, b: 2 }).answered).toMatchObject({ value: 3 });
    });

    test('sees a context like any other: not stopped, with the time that is left', async () => {
      const { run } = isolated();
      const { value } = await run('contextIs', {}, { timeoutMs: 60_000 }).answered;
      expect(value).toMatchObject({ same: true, aborted: false, isCancelled: false });
      const { remaining } = value as { remaining: number };
      expect(remaining).toBeGreaterThan(0);
      expect(remaining).toBeLessThanOrEqual(60_000);
      expect((await run('contextIs').answered).value).toMatchObject({ remaining: Infinity });
    });

    test('reports progress, which arrives in order and before the result', async () => {
      const { run } = isolated();
      const { answered, progress } = run('count', { to: 50 });
      expect((await answered).value).toBe(50);
      expect(progress.map(({ progress }) => progress)).toEqual(Array.from({ length: 50 }, (_, n) => n + 1));
      expect(progress.at(-1)).toEqual({ progress: 50, total: 50, message: '50 of 50' });
    });

    test('does not fail by progress that cannot be cloned: only that one is lost', async () => {
      const { run } = isolated();
      const { answered, progress } = run('progressThatCannotLeave');
      expect((await answered).value).toBe('returned');
      expect(progress).toEqual([{ progress: 2 }]);
    });

    test('throws an error that arrives with its name, message, code, data and stack', async () => {
      const { run } = isolated();
      const { error } = await run('fail', { how: 'an error' }).answered;
      expect(error).toBeInstanceOf(Error);
      expect(error).toMatchObject({
        name: 'ToolError',
        message: 'the tool says no',
        code: -32_042,
        data: { retry: true },
        stack: expect.stringContaining('isolated-functions.mjs'),
      });
    });

    test('throws what is no error, and that arrives as it is', async () => {
      const { run } = isolated();
      expect(await run('fail', { how: 'null' }).answered).toEqual({ times: 1, error: null });
      expect(await run('fail', { how: 'string' }).answered).toEqual({ times: 1, error: 'a string' });
    });

    test('throws an error whose data cannot be cloned, and the error still arrives', async () => {
      const { run } = isolated();
      const { error } = await run('fail', { how: 'uncloneable data' }).answered;
      expect(error).toMatchObject({ message: 'with a function', data: '() => {}' });
    });

    test('returns what cannot be cloned: an error that says so and names the tool', async () => {
      const { run } = isolated();
      const { error } = await run('uncloneable').answered;
      expect(error).toBeInstanceOf(Error);
      expect((error as Error).message).toMatch(
        /^estop: what tool "uncloneable" returned cannot leave its (thread|process): .+/,
      );
    });

    test.each(['missing', 'notAFunction'])(
      'is not there (%s): an error that names the tool and the export',
      async (name) => {
        const { run } = isolated();
        const { error } = await run(name).answered;
        expect(error).toMatchObject({
          name: 'TypeError',
          message: `estop: tool "${name}": ${TOOLS} exports no function "${name}"`,
        });
      },
    );

    test('is in a module that is not there: an error that names the module', async () => {
      const { run } = isolated();
      const missing = new URL('./no-such-module.mjs', import.meta.url).href;
      const { error } = await run('add', {}, { module: missing }).answered;
      expect(error).toMatchObject({
        code: 'ERR_MODULE_NOT_FOUND',
        message: expect.stringContaining('no-such-module.mjs'),
      });
    });

    test('gets arguments that cannot be cloned: its call fails, and leaves no thread', async () => {
      const { run, engine } = isolated();
      const { error } = await run('add', { a: () => {} }).answered;
      expect(error).toMatchObject({ message: expect.stringContaining('could not be cloned') });
      expect(engine.stats().inFlight).toBe(0);
    });

    test('prints to stderr, whichever way it prints: stdout belongs to the protocol', async () => {
      const child = startSubject('isolated-prints.mjs', { KIND: kind });
      let stdout = '';
      child.process.stdout.setEncoding('utf8').on('data', (text: string) => {
        stdout += text;
      });
      expect(await child.exited).toEqual({ code: 0, signal: null });
      expect(stdout).toBe('"printed"\n');
      for (const way of ['console.log', 'stdout.write', 'console.error']) {
        expect(child.stderr()).toContain(`${way}: from the other side\n`);
      }
    });

    test('that has returned is ended, though it left a timer running, and its exit is waited for', async () => {
      const { run, engine } = isolated();
      const { call, answered, left } = run('leaveTimer');
      expect((await answered).value).toBe('returned');
      await soon(left, 'the call leaves');
      expect(call.outcome()).toEqual({
        state: 'completed',
        handler: 'settled',
        work: ended,
        rung: LAST_RUNG[kind],
      });
      expect(engine.stats().inFlight).toBe(0);
    });

    test('15 of them at once are no warning', async () => {
      const events = processEvents();
      const { run } = isolated();
      const all = Array.from({ length: 15 }, (_, n) => run('add', { a: n, b: 1 }));
      const values = await Promise.all(all.map(async ({ answered }) => (await answered).value));
      expect(values).toEqual(Array.from({ length: 15 }, (_, n) => n + 1));
      await Promise.all(all.map(({ left }) => left));
      await turns();
      expect(events.warnings).toEqual([]);
    });
  });

  describe('a function that spins', () => {
    test('is answered at its deadline, another call is answered meanwhile, and the exit of its thread is the proof', async () => {
      const { run, clock, engine } = isolated();
      const { call, answered, at, left } = run('spin', {}, { timeoutMs: 1_000 });
      await at('spinning');
      clock.advance(1_000);
      expect((await answered).error).toMatchObject({ kind: 'deadline', timeoutMs: 1_000 });
      expect(call.outcome()).toEqual({
        state: 'abandoned',
        reason: 'deadline',
        handler: 'running',
        work: 'unknown',
        rung: 'signal',
      });

      expect((await run('add', { a: 1, b: 2 }).answered).value).toBe(3);
      expect(call.workFact).toBe('unknown');

      clock.advance(GRACE_MS);
      await soon(left, 'the call leaves');
      expect(call.outcome()).toEqual({
        state: 'stopped',
        reason: 'deadline',
        handler: 'settled',
        work: ended,
        rung: LAST_RUNG[kind],
        signalToSettledMs: GRACE_MS,
        ...proofAfter(call, GRACE_MS),
      });
      expect(engine.stats()).toMatchObject({ running: 0, abandoned: 0 });
    });

    test('is not ended before the grace is over', async () => {
      const { run, clock } = isolated();
      const { call, at, left } = run('spin');
      await at('spinning');
      call.stop(cancelled('client'));
      clock.advance(GRACE_MS - 1);
      await turns();
      expect(call.outcome()).toMatchObject({ state: 'stopping', work: 'unknown' });
      clock.advance(1);
      await soon(left, 'the call leaves');
      expect(call.outcome()).toMatchObject({ state: 'stopped', work: ended });
    });

    test('leaves no timer of the clock behind', async () => {
      const { run, clock } = isolated();
      const { call, at, left } = run('spin', {}, { timeoutMs: 1_000 });
      await at('spinning');
      call.stop(cancelled('client'));
      clock.advance(GRACE_MS);
      await soon(left, 'the call leaves');
      await turns();
      expect(clock.pending).toBe(0);
    });
  });

  describe('a stop reaches it', () => {
    test.each([
      ['cancelled', 'AbortError', (call: Call) => call.stop(cancelled('client'))],
      ['disconnected', 'AbortError', (call: Call) => call.stop(disconnected())],
      ['deadline', 'TimeoutError', (_call: Call, { clock }: Isolated) => clock.advance(1_000)],
    ])('through the flag, in a loop that never yields and asks: %s', async (kind, name, stop) => {
      const rigged = isolated();
      const { call, at, left, returned } = rigged.run('askUntilStopped', {}, { timeoutMs: 1_000 });
      await at('asking');
      stop(call, rigged);
      // No time passes: it is not the kill that ends it.
      expect(await returned).toEqual({ kind, name, remaining: 0, aborted: true });
      await soon(endOfGrace(rigged, left), 'the call leaves');
      expect(call.outcome()).toMatchObject({
        state: 'stopped',
        reason: kind,
        handler: 'settled',
        work: ended,
        signalToSettledMs: 0,
        ...proofAfter(call, GRACE_MS),
      });
    });

    test('through the signal, with the whole reason, in one that awaits; and it reports nothing afterwards', async () => {
      const rigged = isolated();
      const { call, at, left, returned, progress } = rigged.run('awaitSignal');
      await at('awaiting');
      call.stop(cancelled('client', 'pressed Stop'));
      expect(await returned).toEqual({
        kind: 'cancelled',
        by: 'client',
        message: 'Request cancelled: pressed Stop',
        timeoutMs: undefined,
      });
      expect(progress).toHaveLength(1);
      await soon(endOfGrace(rigged, left), 'the call leaves');
    });

    test('through the signal, though another of its listeners throws', async () => {
      const rigged = isolated();
      const { call, at, left, returned } = rigged.run('throwInListener');
      await at('awaiting');
      call.stop(cancelled('client'));
      expect(await returned).toMatchObject({ kind: 'cancelled' });
      await soon(endOfGrace(rigged, left), 'the call leaves');
    });

    test('before it is up: the function, when it comes to run, sees that it was stopped', async () => {
      const rigged = isolated();
      const { call, left, returned } = rigged.run('askUntilStopped');
      call.stop(cancelled('client'));
      expect(await returned).toMatchObject({ kind: 'cancelled' });
      await soon(endOfGrace(rigged, left), 'the call leaves');
      expect(call.outcome()).toMatchObject({ state: 'stopped', work: ended });
    });

    test('before it is up, with no grace: it is ended all the same', async () => {
      const { run, clock } = isolated({ graceMs: 0 });
      const { call, left } = run('spin');
      call.stop(cancelled('client'));
      clock.advance(0);
      await soon(left, 'the call leaves');
      expect(call.outcome()).toMatchObject({ state: 'stopped', work: ended });
    });

    test('when the call was stopped before the thread was asked for: none is started', async () => {
      const { engine, arrive, clock } = isolated();
      const call = arrive();
      const reason = cancelled('client');
      const late = latch();
      let thread: Answer | undefined;
      const answer = answerOf(
        call.run(
          async () => {
            await late.promise;
            const started = runIsolated(kind, call, { module: TOOLS, export: 'spin', args: {}, onProgress: () => {} });
            thread = answerOf(started);
            return started;
          },
          { timeoutMs: Infinity },
        ),
      );
      call.stop(reason);
      clock.advance(GRACE_MS + 5_000);
      await turns();
      late.open();
      await turns();
      expect(thread).toEqual({ times: 1, error: reason });
      expect(call.works).toEqual([]);
      expect(answer).toEqual({ times: 1, error: reason });
      expect(engine.stats().inFlight).toBe(0);
    });

    test('when the call is over and answered: no thread is started for it any more', async () => {
      const { start } = isolated();
      const { call, returns } = start();
      returns();
      await turns();
      const thread = runIsolated(kind, call, { module: TOOLS, export: 'spin', args: {}, onProgress: () => {} });
      await expect(soon(thread, 'it is refused')).rejects.toThrow('estop: tool "scrape" is not running');
      expect(call.works).toEqual([]);
    });
  });

  describe('a crash fails its own call alone', () => {
    test.each([
      ['uncaught exception', { name: 'RangeError', message: 'outside of any promise' }],
      ['unhandled rejection', { name: 'RangeError', message: 'that nobody handles' }],
      ['process.exit(3)', { message: `estop: the ${kind} of tool "crash" exited with code 3 before it returned` }],
    ])('by %s', async (how, expected) => {
      const events = processEvents();
      const rigged = isolated();
      const sibling = rigged.run('awaitSignal');
      await sibling.at('awaiting');

      const { call, answered, left } = rigged.run('crash', { how });
      expect((await answered).error).toMatchObject(expected);
      await soon(left, 'the call leaves');
      expect(call.outcome()).toMatchObject({ state: 'failed', handler: 'settled', work: ended });

      expect(sibling.call.state).toBe('running');
      sibling.call.stop(cancelled('client'));
      expect(await sibling.returned).toMatchObject({ kind: 'cancelled' });
      await soon(endOfGrace(rigged, sibling.left), 'the sibling leaves');
      await turns();
      expect(events.uncaught).toEqual([]);
      expect(events.unhandled).toEqual([]);
    });
  });

  describe('what it tells and asks the other side', () => {
    test('is told in order, and before its result; what cannot be cloned is lost alone', async () => {
      const told: unknown[] = [];
      const { run } = isolated();
      const { answered } = run('logs', {}, { onTold: (what, args) => void told.push([what, ...args]) });
      expect((await answered).value).toBe('logged');
      expect(told).toEqual([
        ['log', 'info', { n: 1 }, undefined],
        ['log', 'error', 'two', 'the-logger'],
      ]);
    });

    test('is answered with a value, or with an error that has its name, message, code and data', async () => {
      const { run } = isolated();
      const asked: unknown[] = [];
      const onAsk = (what: string, [params, options]: readonly unknown[]): unknown => {
        asked.push([what, params, options]);
        if (what === 'elicitInput') return { action: 'accept' };
        throw Object.assign(new RangeError('no model'), { code: -32_042, data: { retry: true } });
      };
      const { value } = await run('asksTwice', {}, { onAsk }).answered;
      expect(value).toEqual({
        elicited: { action: 'accept' },
        error: { name: 'RangeError', message: 'no model', code: -32_042, data: { retry: true } },
      });
      expect(asked).toEqual([
        ['requestSampling', { maxTokens: 1 }, {}],
        ['elicitInput', { message: 'Which?' }, { timeout: 5_000 }],
      ]);
    });

    test('is an error where nobody is there to ask', async () => {
      const { value } = await isolated().run('asks').answered;
      expect(value).toMatchObject({ message: 'estop: tool "asks": elicitInput(): there is no client to ask' });
    });

    test('cannot be asked with what cannot be cloned: that question rejects', async () => {
      const onAsk = (): unknown => 'answered';
      const { value } = await isolated().run('asks', { uncloneable: true }, { onAsk }).answered;
      expect(value).toMatchObject({ message: expect.stringContaining('could not be cloned') });
    });

    test('rejects with the reason when the call is stopped, also a question that comes later; nothing is told then', async () => {
      const rigged = isolated();
      const asked = latch<AbortSignal>();
      const told: unknown[] = [];
      const never = (_what: string, _args: readonly unknown[], signal: AbortSignal): Promise<unknown> => {
        asked.open(signal);
        return new Promise(() => {});
      };
      const { call, left, returned } = rigged.run(
        'asksThroughStop',
        {},
        {
          onAsk: never,
          onTold: (what) => void told.push(what),
        },
      );
      const signal = await soon(asked.promise, 'it asks');
      call.stop(cancelled('client', 'pressed Stop'));
      const reason = { kind: 'cancelled', by: 'client', message: 'Request cancelled: pressed Stop' };
      expect(await returned).toEqual([reason, reason]);
      await soon(endOfGrace(rigged, left), 'the call leaves');
      // Nobody is left to hear an answer.
      expect(signal.aborted).toBe(true);
      expect(told).toEqual([]);
    });

    test('is taken back with its own signal, and the call goes on', async () => {
      const taken = latch<unknown>();
      const onAsk = (_what: string, _args: readonly unknown[], signal: AbortSignal): Promise<unknown> =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            taken.open(signal.reason);
            reject(signal.reason);
          });
        });
      const { value } = await isolated().run('takesBack', {}, { onAsk }).answered;
      expect(value).toEqual({ name: 'Error', message: 'changed my mind' });
      expect(await taken.promise).toMatchObject({ message: 'changed my mind' });
    });

    test('is taken back when it returns without waiting for the answer', async () => {
      const events = processEvents();
      const asked = latch<AbortSignal>();
      const onAsk = (_what: string, _args: readonly unknown[], signal: AbortSignal): Promise<unknown> => {
        asked.open(signal);
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      };
      const { answered, left } = isolated().run('asksAndReturns', {}, { onAsk });
      expect((await answered).value).toBe('returned');
      await soon(left, 'the call leaves');
      expect((await asked.promise).aborted).toBe(true);
      await turns();
      expect(events.unhandled).toEqual([]);
    });
  });
});

describe('call.thread', () => {
  const ran = (handler: (call: Call) => unknown, { arrive }: Rig = rig()): Promise<unknown> => {
    const call = arrive();
    return call.run(() => handler(call), { timeoutMs: Infinity });
  };

  test('runs the default export, or the one that is named, and hears its progress', async () => {
    const progress: Progress[] = [];
    const onProgress = (told: Progress): void => void progress.push(told);
    expect(await ran((call) => call.thread(new URL(TOOLS), { n: 1 }))).toEqual({ default: { n: 1 } });
    expect(await ran((call) => call.thread(TOOLS, { to: 2 }, { export: 'count', onProgress }))).toBe(2);
    expect(progress.map(({ progress }) => progress)).toEqual([1, 2]);
  });

  test('gives a function that has nobody to ask, and no log', async () => {
    const { message } = (await ran((call) => call.thread(TOOLS, {}, { export: 'asks' }))) as Error;
    expect(message).toBe('estop: tool "scrape": elicitInput(): there is no client to ask');
    expect(await ran((call) => call.thread(TOOLS, {}, { export: 'logs' }))).toBe('logged');
  });

  test('rejects for a module that cannot be found, naming the call', async () => {
    await expect(ran((call) => call.thread('./tools.js'))).rejects.toThrow(
      'estop: tool "scrape": thread(): module "./tools.js" is relative; write new URL("./tools.js", import.meta.url)',
    );
    await expect(ran((call) => call.thread('/no/such/module.js'))).rejects.toThrow('there is no module at');
    await expect(ran((call) => call.thread(7 as never))).rejects.toThrow('got 7');
  });

  test('that nobody waits for is no unhandled rejection', async () => {
    const events = processEvents();
    await ran((call) => {
      void call.thread(TOOLS, { how: 'an error' }, { export: 'fail' });
      void call.thread('./tools.js');
    });
    await turns();
    expect(events.unhandled).toEqual([]);
  });

  test('is ended when the call has ended well without it', async () => {
    const rigged = rig();
    await ran((call) => void call.thread(TOOLS, {}, { export: 'spin' }), rigged);
    while (rigged.engine.stats().inFlight > 0) await turns();
    expect(rigged.left[0]?.outcome()).toMatchObject({ state: 'completed', work: 'ended' });
  });
});

describe('a process', () => {
  test.each(['a heap', 'Buffers', 'small Buffers', 'one large Buffer'])(
    'that fills its memory with %s goes down alone, and its call says that it was over its limit',
    async (how) => {
      const rigged = isolatedRig('process');
      const sibling = rigged.run('awaitSignal', {}, { memoryMb: 64 });
      await sibling.at('awaiting');
      const { answered, left, call } = rigged.run('fillMemory', { how }, { memoryMb: 64 });
      const { error } = await answered;
      expect((error as Error).message).toContain('over its memory limit of 64 MB');
      await soon(left, 'the call leaves');
      expect(call.outcome()).toMatchObject({ state: 'failed', work: ENDED.process });
      expect(sibling.call.state).toBe('running');
      expect((await rigged.run('add', { a: 1, b: 2 }, { memoryMb: 64 }).answered).value).toBe(3);
    },
  );

  test('has its memory limit as its heap, whole', async () => {
    const { value } = await isolatedRig('process').run('fillMemory', { how: 'a heap', toMb: 48 }, { memoryMb: 64 })
      .answered;
    expect(value).toBe('filled');
  });

  test('takes with it what its function has started, also what has left its group', async () => {
    const rigged = isolatedRig('process', { graceMs: 0 });
    const { call, left, progress, at } = rigged.run('startChildren');
    await at('started');
    const pids = progress.map(({ progress }) => progress);
    expect(pids).toHaveLength(2);
    expect(pids.map(isAlive)).toEqual([true, true]);
    call.stop(cancelled('client'));
    rigged.clock.advance(0);
    await soon(left, 'the call leaves');
    expect(call.outcome()).toMatchObject({ state: 'stopped', work: ENDED.process });
    expect(pids.map(isAlive)).toEqual([false, false]);
  });

  test('takes them with it too when its function has returned', async () => {
    const { answered, left, progress } = isolatedRig('process').run('startChildren', { returns: true });
    expect((await answered).value).toBe('returned');
    await soon(left, 'the call leaves');
    expect(progress.map(({ progress }) => isAlive(progress))).toEqual([false, false]);
  });

  test('shows its function nothing of how it was started but the mark', async () => {
    const { value } = await isolatedRig('process').run('environment').answered;
    expect(value).toEqual(['ESTOP_WORK']);
  });
});
