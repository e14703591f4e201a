/** What an author's options do to the calls of a protected server: how long they may run, and how many at once. */
import { createEstop, type EstopOptions, OUTCOME_META, type ToolOptions } from '@estop/server';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Held, HeldServer, RESULT } from '../support/held-server.ts';
import { cancelFrame, ERAS, type Frame } from '../support/peer.ts';
import { aborted, queued, type World, world } from '../support/protected.ts';
import { turns } from '../support/waiting.ts';

describe("a call's timeout", () => {
  test('is that of its tool, then of protect(), then of createEstop()', async () => {
    const all = { timeoutMs: 1_000, cleanupMs: Infinity };
    const first = await world({
      estop: all,
      protect: { timeoutMs: 2_000, tools: { own: { timeoutMs: 3_000 } } },
      tools: ['own'],
    });
    const second = await world({ beside: first });
    expect(first.estop.call((await first.start(1, 'own')).ctx).remaining()).toBe(3_000);
    expect(first.estop.call((await first.start(2)).ctx).remaining()).toBe(2_000);
    expect(second.estop.call((await second.start(3)).ctx).remaining()).toBe(1_000);
  });

  test('is that of the environment where no option says anything', async () => {
    setEnvironment('4000');
    const { estop, start } = await world();
    expect(estop.call((await start(1)).ctx).remaining()).toBe(4_000);
  });

  test.each<[string, Partial<EstopOptions>, number]>([
    ['a number', { timeoutMs: 1_000 }, 1_000],
    ['0, which is none', { timeoutMs: 0 }, Infinity],
    ['Infinity, which is none', { timeoutMs: Infinity }, Infinity],
  ])('is not that of the environment where createEstop() says %s', async (_what, options, remaining) => {
    setEnvironment('4000');
    const { estop, start } = await world({ estop: options });
    expect(estop.call((await start(1)).ctx).remaining()).toBe(remaining);
  });

  test('is none where nobody says anything', async () => {
    const { estop, start } = await world();
    expect(estop.call((await start(1)).ctx).remaining()).toBe(Infinity);
  });

  test('a bad value in the environment is an error of createEstop() that names the variable', () => {
    setEnvironment('5 minutes');
    expect(() => createEstop()).toThrow(/^estop: the environment variable ESTOP_TOOL_TIMEOUT_MS must be a number/);
  });

  test("a tool's own does not apply to a prompt of the same name", async () => {
    const { estop, held, peer } = await world({ protect: { tools: { hold: { timeoutMs: 3_000 } } } });
    peer.write(peer.frame(1, 'prompts/get', { name: 'hold' }));
    expect(estop.call((await held.handlerStarted(1)).ctx).remaining()).toBe(Infinity);
  });

  test('of a tool applies to one that is registered after protect()', async () => {
    const { estop, held, start } = await world({ protect: { tools: { later: { timeoutMs: 3_000 } } } });
    held.server.registerTool('later', {}, (ctx) => held.hold(ctx) as never);
    expect(estop.call((await start(1, 'later')).ctx).remaining()).toBe(3_000);
  });
});

describe.each(ERAS)('progress of the handler, %s', (era) => {
  test('extends no deadline where nobody asked for it', async () => {
    const { clock, estop, start } = await world({ era, protect: { timeoutMs: 1_000 } });
    const holding = await start(1);
    clock.advance(600);
    await tellProgress(holding, 1);
    expect(estop.call(holding.ctx).remaining()).toBe(400);
    clock.advance(400);
    expect(holding.signal.reason).toMatchObject({ kind: 'deadline' });
  });

  test.each<[string, Parameters<typeof world>[0]]>([
    ['createEstop()', { estop: { timeoutMs: 1_000, resetTimeoutOnProgress: true } }],
    ['protect()', { protect: { timeoutMs: 1_000, resetTimeoutOnProgress: true } }],
    ['its tool', { protect: { timeoutMs: 1_000, tools: { hold: { resetTimeoutOnProgress: true } } } }],
  ])('starts the deadline anew where %s asks for it', async (_where, options) => {
    const { clock, estop, start } = await world({ era, ...options });
    const holding = await start(1);
    clock.advance(600);
    await tellProgress(holding, 1);
    expect(estop.call(holding.ctx).remaining()).toBe(1_000);
    clock.advance(999);
    expect(holding.signal.aborted).toBe(false);
    clock.advance(1);
    expect(holding.signal.reason).toMatchObject({ kind: 'deadline', timeoutMs: 1_000 });
  });

  test('extends nothing where its tool says no to what its server asks for', async () => {
    const { clock, estop, start } = await world({
      era,
      protect: { timeoutMs: 1_000, resetTimeoutOnProgress: true, tools: { hold: { resetTimeoutOnProgress: false } } },
    });
    const holding = await start(1);
    clock.advance(600);
    await tellProgress(holding, 1);
    expect(estop.call(holding.ctx).remaining()).toBe(400);
  });

  test('that is written past the context, with the token of the call, counts too', async () => {
    const { clock, estop, held, start } = await world({
      era,
      protect: { timeoutMs: 1_000, resetTimeoutOnProgress: true },
    });
    const { ctx } = await start(1);
    clock.advance(600);
    await held.server.server.notification({
      method: 'notifications/progress',
      params: { progressToken: 1, progress: 1 },
    });
    expect(estop.call(ctx).remaining()).toBe(1_000);
  });

  test('extends no deadline beyond 10 times its length, all told', async () => {
    const { clock, start } = await world({ era, protect: { timeoutMs: 1_000, resetTimeoutOnProgress: true } });
    const holding = await start(1);
    await reportEvery(500, 9_999, clock, holding);
    expect(holding.signal.aborted).toBe(false);
    clock.advance(1);
    expect(holding.signal.reason).toMatchObject({ kind: 'deadline', timeoutMs: 1_000 });
  });

  test.each<[string, Parameters<typeof world>[0]]>([
    ['createEstop()', { estop: { maxTotalTimeoutMs: 2_500 } }],
    ['protect()', { protect: { maxTotalTimeoutMs: 2_500 } }],
    ['its tool', { protect: { maxTotalTimeoutMs: 9_000, tools: { hold: { maxTotalTimeoutMs: 2_500 } } } }],
  ])('extends no deadline beyond the maxTotalTimeoutMs of %s', async (_where, options) => {
    const extending = { timeoutMs: 1_000, resetTimeoutOnProgress: true };
    const { clock, start } = await world({ era, ...options, protect: { ...extending, ...options?.protect } });
    const holding = await start(1);
    await reportEvery(500, 2_499, clock, holding);
    expect(holding.signal.aborted).toBe(false);
    clock.advance(1);
    expect(holding.signal.reason).toMatchObject({ kind: 'deadline' });
  });

  test.each([0, Infinity])('extends it without end where maxTotalTimeoutMs is %s', async (maxTotalTimeoutMs) => {
    const { clock, start } = await world({
      era,
      protect: { timeoutMs: 1_000, resetTimeoutOnProgress: true, maxTotalTimeoutMs },
    });
    const holding = await start(1);
    await reportEvery(900, 50_000, clock, holding);
    expect(holding.signal.aborted).toBe(false);
  });

  test('of another call extends nothing', async () => {
    const { clock, estop, start } = await world({ era, protect: { timeoutMs: 1_000, resetTimeoutOnProgress: true } });
    const silent = await start(1);
    const telling = await start(2);
    clock.advance(600);
    await tellProgress(telling, 2);
    expect(estop.call(silent.ctx).remaining()).toBe(400);
    expect(estop.call(telling.ctx).remaining()).toBe(1_000);
  });

  test('that names no call extends nothing', async () => {
    const { clock, estop, start } = await world({ era, protect: { timeoutMs: 1_000, resetTimeoutOnProgress: true } });
    const holding = await start(1);
    clock.advance(600);
    await tellProgress(holding, 99);
    expect(estop.call(holding.ctx).remaining()).toBe(400);
  });

  test('after the deadline extends nothing any more', async () => {
    const { clock, estop, start, answer } = await world({
      era,
      protect: { timeoutMs: 1_000, resetTimeoutOnProgress: true },
    });
    const holding = await start(1);
    clock.advance(1_000);
    await answer(1);
    await tellProgress(holding, 1);
    expect(estop.call(holding.ctx).remaining()).toBe(0);
    expect(clock.pending).toBe(1);
  });
});

describe.each(ERAS)('limits, %s', (era) => {
  test("a tool's maxConcurrency holds that tool back, and no other", async () => {
    const { estop, held, peer, start, answer } = await world({
      era,
      protect: { tools: { hold: { maxConcurrency: 2 } } },
      tools: ['other'],
    });
    const first = await start(1);
    await start(2);
    peer.write(peer.callTool(3, 'hold'));
    await start(4, 'other');
    expect(estop.stats()).toMatchObject({ queued: 1, running: 3 });
    first.returns(RESULT);
    await answer(1);
    await held.handlerStarted(3);
    expect(held.starts).toEqual([1, 2, 4, 3]);
  });

  test('maxConcurrency holds back whatever comes, prompts and resources included', async () => {
    const { held, peer, start, estop } = await world({ era, estop: { maxConcurrency: 1 } });
    const first = await start(1);
    peer.write(
      peer.frame(2, 'prompts/get', { name: 'hold' }),
      peer.frame(3, 'resources/read', { uri: 'test://hold' }),
      peer.callTool(4, 'hold'),
    );
    await queued(estop, 3);
    first.returns(RESULT);
    (await held.handlerStarted(2)).returns({ messages: [] });
    (await held.handlerStarted(3)).returns({ contents: [] });
    await held.handlerStarted(4);
    expect(held.starts).toEqual([1, 2, 3, 4]);
  });

  test('maxConcurrencyPerScope holds back the calls of that client only', async () => {
    const one = await world({ era, estop: { maxConcurrencyPerScope: 1 } });
    const other = await world({ era, beside: one });
    const first = await one.start(1);
    one.peer.write(one.peer.callTool(2, 'hold'));
    await queued(one.estop, 1);
    await other.start(1);
    expect(one.estop.stats()).toMatchObject({ queued: 1, running: 2 });
    first.returns(RESULT);
    await one.held.handlerStarted(2);
  });

  test('lists and pings are no calls, and wait for nothing', async () => {
    const { estop, peer, start } = await world({ era, estop: { maxConcurrency: 1 } });
    await start(1);
    peer.write(peer.callTool(2, 'hold'));
    await queued(estop, 1);
    expect((await peer.request('tools/list')).result.tools.length).toBeGreaterThan(0);
  });

  test('waiting eats nothing of a deadline', async () => {
    const { clock, estop, held, peer, start } = await world({
      era,
      estop: { maxConcurrency: 1 },
      protect: { tools: { timed: { timeoutMs: 1_000 } } },
      tools: ['timed'],
    });
    const first = await start(1);
    peer.write(peer.callTool(2, 'timed'));
    await queued(estop, 1);
    clock.advance(20_000);
    first.returns(RESULT);
    const { ctx, signal } = await held.handlerStarted(2);
    expect(estop.call(ctx).remaining()).toBe(1_000);
    expect(signal.aborted).toBe(false);
  });

  test('whoever finds the queue full is refused: the answer names the tool, the numbers and the kind', async () => {
    const { estop, held, peer, start, answer } = await world({ era, estop: { maxConcurrency: 1, maxQueue: 1 } });
    await start(1);
    peer.write(peer.callTool(2, 'hold'), peer.callTool(3, 'hold'));
    expectRefusal(await answer(3), /tool "hold" was not run: the queue holds 1 of 1 \(maxQueue\)/);
    expect(held.starts).toEqual([1]);
    expect(estop.stats()).toMatchObject({ queued: 1, inFlight: 2 });
  });

  test.each([{ maxQueue: 0 }, { queueTimeoutMs: 0 }])('with %o nobody waits', async (bound) => {
    const { peer, start, answer } = await world({ era, estop: { maxConcurrency: 1, ...bound } });
    await start(1);
    peer.write(peer.callTool(2, 'hold'));
    expectRefusal(await answer(2), /^estop: tool "hold" was not run: /);
  });

  test.each<[string, EstopOptions, number]>([
    ['30 s by default', {}, 30_000],
    ['queueTimeoutMs', { queueTimeoutMs: 500 }, 500],
  ])('whoever has waited for %s is refused', async (_what, options, ms) => {
    const { clock, estop, held, peer, start, answer } = await world({ era, estop: { maxConcurrency: 1, ...options } });
    await start(1);
    peer.write(peer.callTool(2, 'hold'));
    await queued(estop, 1);
    clock.advance(ms - 1);
    await peer.fence();
    expect(peer.about(2)).toEqual([]);
    clock.advance(1);
    expectRefusal(await answer(2), new RegExp(`waited for ${ms} ms, and the server runs 1 of 1 \\(maxConcurrency\\)`));
    expect(held.starts).toEqual([1]);
  });

  test('a refused prompt or resource is answered as an error that carries the kind', async () => {
    const { peer, start, answer } = await world({ era, estop: { maxConcurrency: 1, maxQueue: 0 } });
    await start(1);
    peer.write(peer.frame(2, 'prompts/get', { name: 'hold' }), peer.frame(3, 'resources/read', { uri: 'test://hold' }));
    expect((await answer(2)).error).toEqual({
      code: -32_000,
      message: expect.stringMatching(/^estop: prompt "hold" was not run: /),
      data: { kind: 'overloaded', handler: 'settled', work: 'none' },
    });
    expect((await answer(3)).error).toMatchObject({
      code: -32_000,
      message: expect.stringContaining('resources/read "test://hold"'),
      data: { kind: 'overloaded' },
    });
  });

  test('beyond maxAbandoned new calls are refused, until a handler that runs on has returned', async () => {
    const { clock, estop, peer, start, answer } = await world({
      era,
      estop: { maxAbandoned: 1, timeoutMs: 1_000 },
    });
    const stuck = await start(1);
    clock.advance(1_000);
    await answer(1);
    peer.write(peer.callTool(2, 'hold'));
    expectRefusal(await answer(2), /tool "hold" was not run: the server is overloaded .* 1 of 1 \(maxAbandoned\)/);
    stuck.returns(RESULT);
    await peer.fence();
    await start(3);
    expect(estop.stats()).toMatchObject({ running: 1, abandoned: 0 });
  });

  test('the place of a call that was answered at its deadline and runs on passes to the next', async () => {
    const { clock, estop, held, peer, start, answer } = await world({
      era,
      estop: { maxConcurrency: 1, timeoutMs: 1_000 },
    });
    await start(1);
    peer.write(peer.callTool(2, 'hold'));
    await queued(estop, 1);
    clock.advance(1_000);
    await answer(1);
    await held.handlerStarted(2);
    expect(estop.stats()).toMatchObject({ running: 1, abandoned: 1 });
  });

  test('a call that is cancelled while it waits never starts, and nothing is written for it', async () => {
    const { estop, held, peer, start, answer } = await world({ era, estop: { maxConcurrency: 1 } });
    const first = await start(1);
    peer.write(peer.callTool(2, 'hold'));
    await queued(estop, 1);
    peer.write(cancelFrame(2));
    await queued(estop, 0);
    first.returns(RESULT);
    await answer(1);
    await peer.fence();
    expect(held.starts).toEqual([1]);
    expect(peer.about(2)).toEqual([]);
    expect(estop.stats()).toMatchObject({ queued: 0, inFlight: 0, ignoredCancels: 0 });
  });

  test("a client that hangs up takes its waiting calls with it, and they are in nobody's way", async () => {
    const gone = await world({ era, estop: { maxConcurrency: 1, maxQueue: 2 } });
    const other = await world({ era, beside: gone });
    const first = await other.start(1);
    gone.peer.write(gone.peer.callTool(2, 'hold'), gone.peer.callTool(3, 'hold'));
    await queued(gone.estop, 2);
    await gone.peer.hangUp();
    expect(gone.estop.stats()).toMatchObject({ queued: 0, inFlight: 1 });
    other.peer.write(other.peer.callTool(4, 'hold'));
    await queued(gone.estop, 1);
    first.returns(RESULT);
    await other.held.handlerStarted(4);
    expect(gone.held.starts).toEqual([]);
  });
});

describe.each(ERAS)('sequential, %s', (era) => {
  test('true: one call of the tool at a time, and other tools run beside it', async () => {
    const { estop, held, peer, start, answer } = await world({
      era,
      protect: { tools: { hold: { sequential: true }, other: { sequential: true } } },
      tools: ['other'],
    });
    const first = await start(1);
    peer.write(peer.callTool(2, 'hold'));
    await queued(estop, 1);
    await start(3, 'other');
    first.returns(RESULT);
    await answer(1);
    await held.handlerStarted(2);
    expect(held.starts).toEqual([1, 3, 2]);
  });

  test('a name: one call at a time of all tools that have it', async () => {
    const { estop, held, peer, start, answer } = await world({
      era,
      protect: { tools: { read: { sequential: 'disk' }, write: { sequential: 'disk' } } },
      tools: ['read', 'write'],
    });
    const first = await start(1, 'read');
    peer.write(peer.callTool(2, 'write'));
    await queued(estop, 1);
    first.returns(RESULT);
    await answer(1);
    await held.handlerStarted(2);
  });

  test('false: as if it were not there', async () => {
    const { estop, start } = await world({
      era,
      protect: { tools: { hold: { sequential: false, maxConcurrency: 2 } } },
    });
    await start(1);
    await start(2);
    expect(estop.stats().running).toBe(2);
  });

  test('the mutex stays shut while its answered holder runs on, and who waits is refused with its name', async () => {
    const { clock, estop, held, peer, start, answer } = await world({
      era,
      estop: { queueTimeoutMs: 3_000 },
      protect: {
        tools: { holder: { sequential: 'disk', timeoutMs: 1_000 }, next: { sequential: 'disk' } },
      },
      tools: ['holder', 'next'],
    });
    const holder = await start(1, 'holder');
    clock.advance(1_000);
    await answer(1);
    clock.advance(60_000);
    await turns();
    peer.write(peer.callTool(2, 'next'));
    await queued(estop, 1);
    clock.advance(3_000);
    expectRefusal(
      await answer(2),
      /tool "next" was not run: .*the mutex "disk" is held by tool "holder", which was answered but runs on/,
    );
    expect(held.starts).toEqual([1]);
    holder.returns(RESULT);
    await peer.fence();
    await start(3, 'next');
  });

  test('a mutex whose holder was cancelled opens when the handler has returned, and not before', async () => {
    const { clock, estop, held, peer, start } = await world({
      era,
      protect: { tools: { hold: { sequential: true } } },
    });
    const first = await start(1);
    peer.write(peer.callTool(2, 'hold'));
    await queued(estop, 1);
    peer.write(cancelFrame(1));
    await aborted(first.signal);
    clock.advance(10_000);
    await peer.fence();
    expect(held.starts).toEqual([1]);
    first.returns(RESULT);
    await held.handlerStarted(2);
  });

  test('estop.release() opens the mutex of a holder that runs on, once', async () => {
    const { clock, estop, held, peer, start, answer } = await world({
      era,
      protect: { tools: { hold: { sequential: true, timeoutMs: 1_000 } } },
    });
    const { ctx } = await start(1);
    clock.advance(1_000);
    await answer(1);
    peer.write(peer.callTool(2, 'hold'));
    await queued(estop, 1);
    expect(estop.release(estop.call(ctx))).toBe(true);
    await held.handlerStarted(2);
    expect(estop.release(estop.call(ctx))).toBe(false);
    expect(estop.stats()).toMatchObject({ running: 1, abandoned: 1 });
  });
});

describe('a bad option is refused where it is given', () => {
  test.each<[string, ToolOptions | Record<string, unknown>, RegExp]>([
    ['timeoutMs: NaN', { timeoutMs: Number.NaN }, /timeoutMs must be a number of milliseconds >= 0, got NaN/],
    ['maxTotalTimeoutMs: -1', { maxTotalTimeoutMs: -1 }, /maxTotalTimeoutMs must be a number of milliseconds >= 0/],
    ['maxTotalTimeoutMs: "5"', { maxTotalTimeoutMs: '5' }, /maxTotalTimeoutMs must be a number of milliseconds >= 0/],
    [
      'resetTimeoutOnProgress: "yes"',
      { resetTimeoutOnProgress: 'yes' },
      /resetTimeoutOnProgress must be true or false/,
    ],
    ['resetTimeoutOnProgress: 1', { resetTimeoutOnProgress: 1 }, /resetTimeoutOnProgress must be true or false/],
    ['maxConcurrency: 0', { maxConcurrency: 0 }, /must be an integer >= 1 or Infinity, got 0/],
    ['maxConcurrency: 1.5', { maxConcurrency: 1.5 }, /must be an integer >= 1 or Infinity, got 1.5/],
    ['maxConcurrency: NaN', { maxConcurrency: Number.NaN }, /must be an integer >= 1 or Infinity, got NaN/],
    ['maxConcurrency: null', { maxConcurrency: null }, /must be an integer >= 1 or Infinity, got null/],
    ['sequential: 1', { sequential: 1 }, /sequential must be true, false or the name of a mutex/],
    ['sequential: ""', { sequential: '' }, /sequential must be true, false or the name of a mutex/],
    ['sequential: null', { sequential: null }, /sequential must be true, false or the name of a mutex/],
    ['sequential with maxConcurrency', { sequential: true, maxConcurrency: 2 }, /so leave maxConcurrency out/],
    ['a mutex with maxConcurrency', { sequential: 'disk', maxConcurrency: 1 }, /so leave maxConcurrency out/],
  ])('tools: { scrape: { %s } }: protect() names the tool', (_what, options, message) => {
    const protect = () => createEstop().protect(new HeldServer().server, { tools: { scrape: options as ToolOptions } });
    expect(protect).toThrow(message);
    expect(protect).toThrow(/^estop: tool "scrape": /);
  });

  test('sequential with maxConcurrency is a TypeError', () => {
    const tools = { scrape: { sequential: true, maxConcurrency: 2 } };
    expect(() => createEstop().protect(new HeldServer().server, { tools })).toThrow(TypeError);
  });

  test.each<[string, object, RegExp]>([
    [
      'timeoutMs',
      { timeoutMs: -1 },
      /^estop: createEstop\(\): timeoutMs must be a number of milliseconds >= 0, got -1/,
    ],
    ['maxTotalTimeoutMs', { maxTotalTimeoutMs: 'x' }, /^estop: createEstop\(\): maxTotalTimeoutMs must be a number/],
    [
      'resetTimeoutOnProgress',
      { resetTimeoutOnProgress: 'yes' },
      /^estop: createEstop\(\): resetTimeoutOnProgress must/,
    ],
    ['graceMs', { graceMs: -1 }, /^estop: graceMs must be a number of milliseconds >= 0/],
    ['maxConcurrency', { maxConcurrency: 0 }, /^estop: maxConcurrency must be an integer >= 1 or Infinity, got 0/],
    [
      'maxConcurrencyPerScope',
      { maxConcurrencyPerScope: -1 },
      /^estop: maxConcurrencyPerScope must be an integer >= 1/,
    ],
    ['maxQueue', { maxQueue: -1 }, /^estop: maxQueue must be an integer >= 0 or Infinity, got -1/],
    ['queueTimeoutMs', { queueTimeoutMs: Number.NaN }, /^estop: queueTimeoutMs must be a number of milliseconds >= 0/],
    ['maxAbandoned', { maxAbandoned: 0 }, /^estop: maxAbandoned must be an integer >= 1 or Infinity, got 0/],
    ['cleanupMs', { cleanupMs: '60' }, /^estop: cleanupMs must be a number of milliseconds >= 0, got "60"/],
  ])('createEstop() names %s', (_what, options, message) => {
    expect(() => createEstop(options)).toThrow(message);
  });

  test.each<[string, object, RegExp]>([
    ['maxTotalTimeoutMs', { maxTotalTimeoutMs: -1 }, /^estop: protect\(\): maxTotalTimeoutMs must be a number/],
    ['resetTimeoutOnProgress', { resetTimeoutOnProgress: null }, /^estop: protect\(\): resetTimeoutOnProgress must be/],
  ])('protect() names %s', (_what, options, message) => {
    expect(() => createEstop().protect(new HeldServer().server, options)).toThrow(message);
  });

  test('two servers of one estop that give one tool two limits: the second is told of both', () => {
    const estop = createEstop();
    estop.protect(new HeldServer().server, { tools: { scrape: { maxConcurrency: 1 } } });
    const again = () => estop.protect(new HeldServer().server, { tools: { scrape: { maxConcurrency: 2 } } });
    expect(again).toThrow(RangeError);
    expect(again).toThrow(/scrape.* cannot be both 1 and 2/);
  });

  test('two servers of one estop that give one tool the same limit share it', async () => {
    const protect = { tools: { hold: { maxConcurrency: 1 } } };
    const one = await world({ protect });
    const other = await world({ protect, beside: one });
    await one.start(1);
    other.peer.write(other.peer.callTool(1, 'hold'));
    await queued(one.estop, 1);
  });

  test('a refused protect() leaves no limit behind that a corrected one would meet', () => {
    const estop = createEstop();
    const { server } = new HeldServer();
    const bad = { first: { maxConcurrency: 1 }, second: { timeoutMs: -1 } };
    expect(() => estop.protect(server, { tools: bad })).toThrow(/^estop: tool "second"/);
    expect(estop.protect(server, { tools: { first: { maxConcurrency: 2 } } })).toBe(server);
  });
});

function setEnvironment(value: string): void {
  const before = process.env['ESTOP_TOOL_TIMEOUT_MS'];
  process.env['ESTOP_TOOL_TIMEOUT_MS'] = value;
  onTestFinished(() => {
    if (before === undefined) delete process.env['ESTOP_TOOL_TIMEOUT_MS'];
    else process.env['ESTOP_TOOL_TIMEOUT_MS'] = before;
  });
}

function tellProgress({ ctx }: Held, progressToken: number): Promise<void> {
  return ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: 1 } });
}

/** Advances by `forMs` in all, with a progress notification each `everyMs`. */
async function reportEvery(everyMs: number, forMs: number, clock: World['clock'], holding: Held): Promise<void> {
  for (let left = forMs; left > 0; left -= everyMs) {
    clock.advance(Math.min(everyMs, left));
    await tellProgress(holding, 1);
  }
}

function expectRefusal({ result, error }: Frame, text: RegExp): void {
  expect(error).toBeUndefined();
  expect(result).toMatchObject({
    isError: true,
    content: [{ type: 'text', text: expect.stringMatching(text) }],
    _meta: { [OUTCOME_META]: { kind: 'overloaded', handler: 'settled', work: 'none' } },
  });
}
