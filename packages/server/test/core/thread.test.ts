import { type Call, cancelled, disconnected, type Progress, runInThread, type StopReason } from '@estop/server/core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startSubject } from '../support/child.ts';
import { processEvents } from '../support/process-events.ts';
import { type Answer, answerOf, GRACE_MS, type Rig, rig } from '../support/rig.ts';
import { latch, soon, turns } from '../support/waiting.ts';

const TOOLS = new URL('../subjects/thread-tools.mjs', import.meta.url).href;

describe('a function in a thread', () => {
  test('gets its arguments, and its result comes back', async () => {
    const { run } = threads();
    expect(await run('add', { a: 1, b: 2 }).answered).toMatchObject({ value: 3 });
  });

  test('sees a context like any other: not stopped, with the time that is left', async () => {
    const { run } = threads();
    const { value } = await run('contextIs', {}, { timeoutMs: 60_000 }).answered;
    expect(value).toMatchObject({ same: true, aborted: false, isCancelled: false });
    const { remaining } = value as { remaining: number };
    expect(remaining).toBeGreaterThan(0);
    expect(remaining).toBeLessThanOrEqual(60_000);
    expect((await run('contextIs').answered).value).toMatchObject({ remaining: Infinity });
  });

  test('reports progress, which arrives in order and before the result', async () => {
    const { run } = threads();
    const { answered, progress } = run('count', { to: 50 });
    expect((await answered).value).toBe(50);
    expect(progress.map(({ progress }) => progress)).toEqual(Array.from({ length: 50 }, (_, n) => n + 1));
    expect(progress.at(-1)).toEqual({ progress: 50, total: 50, message: '50 of 50' });
  });

  test('does not fail by progress that cannot be cloned: only that one is lost', async () => {
    const { run } = threads();
    const { answered, progress } = run('progressThatCannotLeave');
    expect((await answered).value).toBe('returned');
    expect(progress).toEqual([{ progress: 2 }]);
  });

  test('throws an error that arrives with its name, message, code, data and stack', async () => {
    const { run } = threads();
    const { error } = await run('fail', { how: 'an error' }).answered;
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({
      name: 'ToolError',
      message: 'the tool says no',
      code: -32_042,
      data: { retry: true },
      stack: expect.stringContaining('thread-tools.mjs'),
    });
  });

  test('throws what is no error, and that arrives as it is', async () => {
    const { run } = threads();
    expect(await run('fail', { how: 'null' }).answered).toEqual({ times: 1, error: null });
    expect(await run('fail', { how: 'string' }).answered).toEqual({ times: 1, error: 'a string' });
  });

  test('throws an error whose data cannot be cloned, and the error still arrives', async () => {
    const { run } = threads();
    const { error } = await run('fail', { how: 'uncloneable data' }).answered;
    expect(error).toMatchObject({ message: 'with a function', data: '() => {}' });
  });

  test('returns what cannot be cloned: an error that says so and names the tool', async () => {
    const { run } = threads();
    const { error } = await run('uncloneable').answered;
    expect(error).toBeInstanceOf(Error);
    expect((error as Error).message).toMatch(/^estop: what tool "uncloneable" returned cannot leave its thread: .+/);
  });

  test.each(['missing', 'notAFunction'])(
    'is not there (%s): an error that names the tool and the export',
    async (name) => {
      const { run } = threads();
      const { error } = await run(name).answered;
      expect(error).toMatchObject({
        name: 'TypeError',
        message: `estop: tool "${name}": ${TOOLS} exports no function "${name}"`,
      });
    },
  );

  test('is in a module that is not there: an error that names the module', async () => {
    const { run } = threads();
    const missing = new URL('./no-such-module.mjs', import.meta.url).href;
    const { error } = await run('add', {}, { module: missing }).answered;
    expect(error).toMatchObject({
      code: 'ERR_MODULE_NOT_FOUND',
      message: expect.stringContaining('no-such-module.mjs'),
    });
  });

  test('gets arguments that cannot be cloned: its call fails, and leaves no thread', async () => {
    const { run, engine } = threads();
    const { error } = await run('add', { a: () => {} }).answered;
    expect(error).toMatchObject({ name: 'DataCloneError' });
    expect(engine.stats().inFlight).toBe(0);
  });

  test('prints to stderr, whichever way it prints: stdout belongs to the protocol', async () => {
    const child = startSubject('thread-prints.mjs');
    let stdout = '';
    child.process.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(stdout).toBe('"printed"\n');
    for (const way of ['console.log', 'stdout.write', 'console.error']) {
      expect(child.stderr()).toContain(`${way}: from the thread\n`);
    }
  });

  test('that has returned is ended, though it left a timer running, and its exit is waited for', async () => {
    const { run, engine } = threads();
    const { call, answered, left } = run('leaveTimer');
    expect((await answered).value).toBe('returned');
    await soon(left, 'the call leaves');
    expect(call.outcome()).toEqual({ state: 'completed', handler: 'settled', work: 'ended', rung: 'thread' });
    expect(engine.stats().inFlight).toBe(0);
  });

  test('15 of them at once are no warning', async () => {
    const events = processEvents();
    const { run } = threads();
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
    const { run, clock, engine } = threads();
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
      work: 'ended',
      rung: 'thread',
      signalToSettledMs: GRACE_MS,
      signalToProofMs: GRACE_MS,
    });
    expect(engine.stats()).toMatchObject({ running: 0, abandoned: 0 });
  });

  test('is not ended before the grace is over', async () => {
    const { run, clock } = threads();
    const { call, at, left } = run('spin');
    await at('spinning');
    call.stop(cancelled('client'));
    clock.advance(GRACE_MS - 1);
    await turns();
    expect(call.outcome()).toMatchObject({ state: 'stopping', work: 'unknown' });
    clock.advance(1);
    await soon(left, 'the call leaves');
    expect(call.outcome()).toMatchObject({ state: 'stopped', work: 'ended' });
  });

  test('leaves no timer of the clock behind', async () => {
    const { run, clock } = threads();
    const { call, at, left } = run('spin', {}, { timeoutMs: 1_000 });
    await at('spinning');
    call.stop(cancelled('client'));
    clock.advance(GRACE_MS);
    await soon(left, 'the call leaves');
    await turns();
    expect(clock.pending).toBe(0);
  });
});

describe('a stop reaches a thread', () => {
  test.each([
    ['cancelled', 'AbortError', (call: Call) => call.stop(cancelled('client'))],
    ['disconnected', 'AbortError', (call: Call) => call.stop(disconnected())],
    ['deadline', 'TimeoutError', (_call: Call, { clock }: Rig) => clock.advance(1_000)],
  ])('through the flag, in a loop that never yields and asks: %s', async (kind, name, stop) => {
    const rigged = threads();
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
      work: 'ended',
      signalToSettledMs: 0,
      signalToProofMs: GRACE_MS,
    });
  });

  test('through the signal, with the whole reason, in one that awaits; and it reports nothing afterwards', async () => {
    const rigged = threads();
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
    const rigged = threads();
    const { call, at, left, returned } = rigged.run('throwInListener');
    await at('awaiting');
    call.stop(cancelled('client'));
    expect(await returned).toMatchObject({ kind: 'cancelled' });
    await soon(endOfGrace(rigged, left), 'the call leaves');
  });

  test('before it is up: the function, when it comes to run, sees that it was stopped', async () => {
    const rigged = threads();
    const { call, left, returned } = rigged.run('askUntilStopped');
    call.stop(cancelled('client'));
    expect(await returned).toMatchObject({ kind: 'cancelled' });
    await soon(endOfGrace(rigged, left), 'the call leaves');
    expect(call.outcome()).toMatchObject({ state: 'stopped', work: 'ended' });
  });

  test('before it is up, with no grace: it is ended all the same', async () => {
    const { run, clock } = threads({ graceMs: 0 });
    const { call, left } = run('spin');
    call.stop(cancelled('client'));
    clock.advance(0);
    await soon(left, 'the call leaves');
    expect(call.outcome()).toMatchObject({ state: 'stopped', work: 'ended' });
  });

  test('when the call was stopped before the thread was asked for: none is started', async () => {
    const { engine, arrive, clock } = threads();
    const call = arrive();
    const reason = cancelled('client');
    const late = latch();
    let thread: Answer | undefined;
    const answer = answerOf(
      call.run(
        async () => {
          await late.promise;
          const started = runInThread(call, { module: TOOLS, export: 'spin', args: {}, onProgress: () => {} });
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
    const { start } = threads();
    const { call, returns } = start();
    returns();
    await turns();
    const thread = runInThread(call, { module: TOOLS, export: 'spin', args: {}, onProgress: () => {} });
    await expect(soon(thread, 'it is refused')).rejects.toThrow('estop: tool "scrape" is not running');
    expect(call.works).toEqual([]);
  });
});

describe('a thread that crashes fails its own call alone', () => {
  test.each([
    ['uncaught exception', { name: 'RangeError', message: 'outside of any promise' }],
    ['unhandled rejection', { name: 'RangeError', message: 'that nobody handles' }],
    ['process.exit(3)', { message: 'estop: the thread of tool "crash" exited with code 3 before it returned' }],
  ])('by %s', async (how, expected) => {
    const events = processEvents();
    const rigged = threads();
    const sibling = rigged.run('awaitSignal');
    await sibling.at('awaiting');

    const { call, answered, left } = rigged.run('crash', { how });
    expect((await answered).error).toMatchObject(expected);
    await soon(left, 'the call leaves');
    expect(call.outcome()).toMatchObject({ state: 'failed', handler: 'settled', work: 'ended' });

    expect(sibling.call.state).toBe('running');
    sibling.call.stop(cancelled('client'));
    expect(await sibling.returned).toMatchObject({ kind: 'cancelled' });
    await soon(endOfGrace(rigged, sibling.left), 'the sibling leaves');
    await turns();
    expect(events.uncaught).toEqual([]);
    expect(events.unhandled).toEqual([]);
  });
});

interface ThreadRun {
  readonly call: Call;
  /** The caller's answer. */
  readonly answered: Promise<Answer>;
  /** What the function returned, also when nobody is answered with it any more. */
  readonly returned: Promise<unknown>;
  readonly left: Promise<void>;
  readonly progress: Progress[];
  /** Resolves when the function has reported that. */
  at(message: string): Promise<void>;
}

interface Threads extends Rig {
  run(name: string, args?: unknown, options?: { timeoutMs?: number; module?: string }): ThreadRun;
}

/** Virtual time for the engine; the threads are real. All of them have ended when the test has. */
function threads(options?: { graceMs: number }): Threads {
  const rigged = rig(options);
  const { engine, clock } = rigged;
  let id = 0;
  onTestFinished(async () => {
    for (const call of engine.registry.calls()) call.stop(cancelled('library'));
    await turns();
    clock.advance(GRACE_MS);
    await Promise.all(engine.registry.calls().flatMap(({ works }) => works.map(({ ended }) => ended)));
  });
  return {
    ...rigged,
    run(name, args = {}, { timeoutMs = Infinity, module = TOOLS } = {}) {
      id += 1;
      const left = latch();
      const moved = latch();
      let heard = moved;
      const progress: Progress[] = [];
      const call = rigged.arrive({ id, name, owner: { left: () => left.open() } });
      const onProgress = (reported: Progress): void => {
        progress.push(reported);
        heard.open();
        heard = latch();
      };
      const returned = latch<unknown>();
      returned.promise.catch(() => {});
      const handler = async (): Promise<unknown> => {
        const running = runInThread(call, { module, export: name, args, onProgress });
        running.then(returned.open, returned.fail);
        return running;
      };
      const ran = call.run(handler, { timeoutMs });
      const answer = answerOf(ran);
      const answered = ran.then(
        () => answer,
        () => answer,
      );
      return {
        call,
        get answered() {
          return soon(answered, `${name} is answered`);
        },
        get returned() {
          return soon(returned.promise, `${name} returns`);
        },
        left: left.promise,
        progress,
        async at(message) {
          while (!progress.some((reported) => reported.message === message)) {
            await soon(Promise.race([heard.promise, failed(ran)]), `${name} is ${message}`);
          }
        },
      };
    },
  };
}

/** A thread that has returned is ended when the grace is over. */
async function endOfGrace({ clock }: Rig, left: Promise<void>): Promise<void> {
  await turns();
  clock.advance(GRACE_MS);
  await left;
}

function failed(ran: Promise<unknown>): Promise<never> {
  return new Promise((_, reject) => ran.catch((error: StopReason) => reject(error)));
}
