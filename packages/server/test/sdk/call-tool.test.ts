/** A tool that calls another of its server: the result as the SDK makes it, nothing on the wire, and one stop for both. */
import { createEstop, StopReason } from '@estop/server';
import { inputRequired, type ServerContext } from '@modelcontextprotocol/server';
import { describe, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { type Held, type HeldServer, RESULT } from '../support/held-server.ts';
import { MAJORS, wordsOf } from '../support/majors.ts';
import { cancelFrame, ERAS } from '../support/peer.ts';
import { processEvents } from '../support/process-events.ts';
import { aborted, queued, type World, type WorldOptions, world } from '../support/protected.ts';
import { type Latch, latch, soon, turns } from '../support/waiting.ts';

const text = (text: string) => ({ content: [{ type: 'text' as const, text }] });

/** The tools that others call; `inner` waits for the test like `hold`, under a number of its own. */
interface Inner {
  readonly ctx: ServerContext;
  readonly signal: AbortSignal;
  returns(result: unknown): void;
}

interface Nest extends World {
  /** Resolves with the `nth` handler of `inner` that was started. */
  inner(nth?: number): Promise<Inner>;
}

async function nest(options: WorldOptions = {}): Promise<Nest> {
  const latches: Latch<Inner>[] = [];
  const at = (nth: number): Latch<Inner> => {
    while (latches.length <= nth) latches.push(latch<Inner>());
    return latches[nth] as Latch<Inner>;
  };
  let starts = 0;
  const released: (() => void)[] = [];
  const prepare = ({ server }: HeldServer): void => {
    for (const name of ['inner', 'innermost']) {
      server.registerTool(name, {}, (ctx) => {
        const result = latch<unknown>();
        released.push(() => result.open(RESULT));
        at(starts).open({ ctx, signal: wordsOf(ctx).signal, returns: result.open });
        starts += 1;
        return result.promise as never;
      });
    }
    server.registerTool('greets', { inputSchema: z.object({ name: z.string().default('Ada') }) }, async ({ name }) =>
      text(`Hello ${name}`),
    );
    server.registerTool('throws', {}, async () => {
      throw new Error('inner trouble');
    });
    const outputSchema = z.object({ count: z.number() });
    server.registerTool('counts', { outputSchema }, async () => ({
      ...text('7'),
      structuredContent: { count: 7 },
    }));
    server.registerTool(
      'lies',
      { outputSchema },
      async () => ({ ...text('x'), structuredContent: { count: 'x' } }) as never,
    );
    server.registerTool('tells', {}, async (ctx) => {
      const { _meta, notify } = wordsOf(ctx);
      const progressToken = _meta?.progressToken;
      if (progressToken !== undefined) {
        await notify({ method: 'notifications/progress', params: { progressToken, progress: 1 } });
      }
      return text(String(progressToken));
    });
  };
  const made = await world({ ...options, prepare });
  onTestFinished(() => {
    for (const release of released) release();
  });
  return { ...made, inner: (nth = 0) => soon(at(nth).promise, `the handler of inner starts (${nth})`) };
}

const WHERE: [string, WorldOptions][] = [
  ...ERAS.map((era): (typeof WHERE)[number] => [`SDK v2, ${era}`, { era }]),
  ['SDK v1', { major: 'v1' }],
];

describe.each(WHERE)('estop.callTool(), %s', (_what, where) => {
  test('resolves with what the SDK makes of the tool, its arguments validated and defaults filled in', async () => {
    const { estop, start } = await nest(where);
    const { ctx } = await start(7);
    expect(await estop.callTool(ctx, 'greets', { name: 'Bob' })).toEqual(text('Hello Bob'));
    expect(await estop.callTool(ctx, 'greets', {})).toEqual(text('Hello Ada'));
    expect(await estop.callTool(ctx, 'greets')).toEqual(text('Hello Ada'));
  });

  test('resolves with an error result where the arguments do not fit', async () => {
    const { estop, start } = await nest(where);
    const { ctx } = await start(7);
    expect(await estop.callTool(ctx, 'greets', { name: 7 })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('Invalid arguments for tool greets') }],
    });
  });

  test('resolves with an error result where the tool throws', async () => {
    const { estop, start } = await nest(where);
    const { ctx } = await start(7);
    expect(await estop.callTool(ctx, 'throws')).toEqual({ ...text('inner trouble'), isError: true });
  });

  test('resolves with structured content, and does not where that violates the output schema', async () => {
    const { estop, start } = await nest(where);
    const { ctx } = await start(7);
    expect(await estop.callTool(ctx, 'counts')).toMatchObject({ structuredContent: { count: 7 } });
    const lied = await estop.callTool(ctx, 'lies').catch((error: unknown) => ({ error: String(error) }));
    expect(JSON.stringify(lied)).toContain('lies');
    expect(lied).not.toHaveProperty('structuredContent');
  });

  test.each(['nobody', ''])('does as a call over the wire does for a tool that is not there: %j', async (name) => {
    const { estop, peer, start } = await nest(where);
    const { ctx } = await start(7);
    const { error, result } = await peer.request('tools/call', { name, arguments: {} });
    const nested = await estop.callTool(ctx, name).then(
      (result) => ({ result }),
      ({ code, message }) => ({ error: { code, message } }),
    );
    expect(nested).toEqual(error === undefined ? { result: expect.objectContaining(result) } : { error });
  });

  test('gives the nested handler a context of its own call: its signal, its time, its parent', async () => {
    const { clock, estop, inner, start } = await nest({ ...where, protect: { tools: { inner: { timeoutMs: 500 } } } });
    const { ctx } = await start(7);
    void estop.callTool(ctx, 'inner');
    const nested = await inner();
    const call = estop.call(nested.ctx);
    clock.advance(100);
    expect(call).toMatchObject({ method: 'tools/call', name: 'inner', scope: estop.call(ctx).scope });
    expect(call.parent).toBe(estop.call(ctx));
    expect(call.remaining()).toBe(400);
    expect(call.signal).toBe(nested.signal);
    expect(estop.stats()).toMatchObject({ running: 2, inFlight: 2 });
  });

  test.each<[string, number | undefined, number]>([
    ['its own option', 300, 300],
    ['0 there, which is none', 0, Infinity],
    ['its tool, where there is none', undefined, 500],
  ])('takes its timeout from %s', async (_what, timeoutMs, remaining) => {
    const { estop, inner, start } = await nest({
      ...where,
      protect: { timeoutMs: 1_000, tools: { inner: { timeoutMs: 500 } } },
    });
    const { ctx } = await start(7);
    void estop.callTool(ctx, 'inner', {}, { timeoutMs });
    expect(estop.call((await inner()).ctx).remaining()).toBe(remaining);
  });

  test.each([Number.NaN, -1, '5'])('rejects a timeout of %o, and says whose', async (bad) => {
    const { estop, start } = await nest(where);
    const { ctx } = await start(7);
    await expect(estop.callTool(ctx, 'greets', {}, { timeoutMs: bad as number })).rejects.toThrow(
      /^estop: callTool\("greets"\): timeoutMs must be a number of milliseconds >= 0, got /,
    );
    expect(estop.stats().inFlight).toBe(1);
  });

  test('writes nothing on the wire: no answer, no progress with the token of its caller', async () => {
    const { estop, peer, start, answer } = await nest(where);
    const { ctx, returns } = await start(7);
    peer.frames.length = 0;
    expect(await estop.callTool(ctx, 'tells')).toEqual(text('undefined'));
    await estop.callTool(ctx, 'throws');
    await turns();
    expect(peer.frames).toEqual([]);
    returns(RESULT);
    await answer(7);
    expect(peer.about(7)).toHaveLength(1);
  });

  test("a stop of the caller reaches the nested call, with the same reason, and ends the caller's wait", async () => {
    const { estop, inner, peer, start } = await nest(where);
    const { ctx, signal, returns } = await start(7);
    const calling = estop.callTool(ctx, 'inner');
    const nested = await inner();
    peer.write(cancelFrame(7, 'pressed Stop'));
    await aborted(signal);
    expect((await aborted(nested.signal)).reason).toBe(signal.reason);
    await expect(calling).rejects.toBe(signal.reason);
    nested.returns(RESULT);
    returns(RESULT);
    await peer.fence();
    expect(peer.about(7)).toEqual([]);
    expect(estop.stats().inFlight).toBe(0);
  });

  test('a nested call that nobody awaits is stopped when its caller has returned', async () => {
    const events = processEvents();
    const { estop, inner, start, answer } = await nest(where);
    const { ctx, returns } = await start(7);
    void estop.callTool(ctx, 'inner');
    const nested = await inner();
    returns(RESULT);
    expect((await answer(7)).result).toMatchObject(RESULT);
    expect((await aborted(nested.signal)).reason).toMatchObject({ kind: 'cancelled', by: 'library' });
    nested.returns(RESULT);
    for (let turn = 0; turn < 10; turn += 1) await turns();
    expect(estop.stats().inFlight).toBe(0);
    expect(events.unhandled).toEqual([]);
  });

  test('its deadline rejects in the caller, which goes on', async () => {
    const { clock, estop, inner, start, answer } = await nest(where);
    const { ctx, signal, returns } = await start(7);
    const calling = estop.callTool(ctx, 'inner', {}, { timeoutMs: 500 });
    const nested = await inner();
    clock.advance(500);
    await expect(calling).rejects.toBeInstanceOf(StopReason);
    await expect(calling).rejects.toBe(nested.signal.reason);
    expect(nested.signal.reason).toMatchObject({ kind: 'deadline', timeoutMs: 500 });
    expect(signal.aborted).toBe(false);
    nested.returns(RESULT);
    returns(RESULT);
    expect((await answer(7)).result).toMatchObject(RESULT);
  });

  test('once its caller has been stopped it rejects with that reason, and starts nothing', async () => {
    const { estop, peer, start } = await nest(where);
    const { ctx, signal } = await start(7);
    peer.write(cancelFrame(7));
    await aborted(signal);
    await expect(estop.callTool(ctx, 'inner')).rejects.toBe(signal.reason);
    expect(estop.stats().inFlight).toBe(1);
  });

  test('once its caller has returned it rejects, and is no unhandled rejection', async () => {
    const events = processEvents();
    const { estop, start, answer } = await nest(where);
    const { ctx, returns } = await start(7);
    returns(RESULT);
    await answer(7);
    await expect(estop.callTool(ctx, 'greets')).rejects.toThrow('estop: tool "hold" is not running');
    void estop.callTool(ctx, 'greets');
    await turns();
    expect(events.unhandled).toEqual([]);
  });

  test('nested in nested: the stop of the first is the stop of all, with one reason', async () => {
    const { estop, inner, peer, start } = await nest(where);
    const { ctx, signal } = await start(7);
    const outer = estop.callTool(ctx, 'inner');
    const middle = await inner(0);
    const innermost = estop.callTool(middle.ctx, 'innermost');
    const last = await inner(1);
    expect(estop.call(last.ctx).parent).toBe(estop.call(middle.ctx));
    peer.write(cancelFrame(7));
    await aborted(signal);
    expect((await aborted(last.signal)).reason).toBe(signal.reason);
    await expect(innermost).rejects.toBe(signal.reason);
    await expect(outer).rejects.toBe(signal.reason);
    middle.returns(RESULT);
    last.returns(RESULT);
  });

  test('nested in nested: the result of the last is the result of all', async () => {
    const { estop, inner, start, answer } = await nest(where);
    const { ctx, returns } = await start(7);
    const outer = estop.callTool(ctx, 'inner');
    const middle = await inner(0);
    const innermost = estop.callTool(middle.ctx, 'innermost');
    (await inner(1)).returns(text('the last'));
    middle.returns(await innermost);
    returns(await outer);
    expect((await answer(7)).result.content).toEqual(text('the last').content);
    expect(estop.stats().inFlight).toBe(0);
  });

  test('enters a mutex that its caller holds', async () => {
    const { estop, inner, start } = await nest({
      ...where,
      protect: { tools: { hold: { sequential: 'disk' }, inner: { sequential: 'disk' } } },
    });
    const { ctx } = await start(7);
    const calling = estop.callTool(ctx, 'inner');
    (await inner()).returns(text('inside'));
    expect(await calling).toEqual(text('inside'));
  });

  test("runs on its caller's place where one call may run at once", async () => {
    const { estop, start } = await nest({ ...where, estop: { maxConcurrency: 1, maxConcurrencyPerScope: 1 } });
    const { ctx } = await start(7);
    expect(await estop.callTool(ctx, 'greets')).toEqual(text('Hello Ada'));
  });

  test("waits for a mutex that another call holds, and is refused after the queue's wait, as overloaded", async () => {
    const { clock, estop, start } = await nest({
      ...where,
      estop: { queueTimeoutMs: 500 },
      protect: { tools: { holder: { sequential: 'disk' }, inner: { sequential: 'disk' } } },
      tools: ['holder'],
    });
    await start(6, 'holder');
    const { ctx, signal } = await start(7);
    const calling = estop.callTool(ctx, 'inner');
    await queued(estop, 1);
    clock.advance(500);
    await expect(calling).rejects.toMatchObject({
      kind: 'overloaded',
      message: expect.stringContaining('the mutex "disk" is held by tool "holder"'),
    });
    expect(signal.aborted).toBe(false);
  });

  test.each([undefined, null, {}, { mcpReq: {} }, 'context'])(
    'with %o for a context rejects with a TypeError',
    async (context) => {
      const events = processEvents();
      const { estop } = await nest(where);
      await expect(estop.callTool(context, 'greets')).rejects.toThrow(TypeError);
      await expect(estop.callTool(context, 'greets')).rejects.toThrow(/^estop: callTool\(\) takes the context of a/);
      void estop.callTool(context, 'greets');
      await turns();
      expect(events.unhandled).toEqual([]);
    },
  );

  test('from a prompt calls a tool', async () => {
    const { estop, held, peer } = await nest(where);
    peer.write(peer.frame(7, 'prompts/get', { name: 'hold' }));
    const { ctx } = await held.handlerStarted(7);
    expect(await estop.callTool(ctx, 'greets')).toEqual(text('Hello Ada'));
  });

  test('from a context that was spread calls a tool', async () => {
    const { estop, start } = await nest(where);
    const { ctx } = await start(7);
    expect(await estop.callTool({ ...ctx }, 'greets')).toEqual(text('Hello Ada'));
  });

  test('of another engine starts no call there', async () => {
    const { estop, start } = await nest(where);
    const other = createEstop();
    const { ctx } = await start(7);
    await other.callTool(ctx, 'greets').catch(() => {});
    expect(other.stats().inFlight).toBe(0);
    expect(estop.stats().inFlight).toBe(1);
  });

  test("the progress token of the caller is not the nested call's", async () => {
    const { estop, inner, start } = await nest(where);
    const { ctx } = await start(7);
    void estop.callTool(ctx, 'inner');
    expect(wordsOf(ctx)._meta?.progressToken).toBe(7);
    expect(wordsOf((await inner()).ctx)._meta?.progressToken).toBeUndefined();
  });

  test('its refusal, its error and its success leave no listener, timer or row behind', async () => {
    const { clock, estop, start, answer } = await nest({ ...where, protect: { timeoutMs: 1_000 } });
    const { ctx, returns } = await start(7);
    await estop.callTool(ctx, 'greets');
    await estop.callTool(ctx, 'throws');
    await estop.callTool(ctx, 'nobody').catch(() => {});
    expect(estop.stats()).toMatchObject({ running: 1, inFlight: 1 });
    returns(RESULT);
    await answer(7);
    expect(estop.stats()).toMatchObject({ running: 0, inFlight: 0 });
    expect(clock.pending).toBe(0);
  });
});

describe.each(MAJORS)('a nested call that asks the user, legacy, SDK %s', (major) => {
  const FORM = { mode: 'form', message: 'Which?', requestedSchema: { type: 'object', properties: {} } } as const;
  const ASKING: [string, (inner: Inner) => Promise<unknown>][] = [
    ['elicitInput', ({ ctx }) => wordsOf(ctx).elicitInput(FORM)],
    ['send', ({ ctx }) => wordsOf(ctx).send({ method: 'elicitation/create', params: FORM })],
  ];

  const SHIM: (typeof ASKING)[number] = [
    'the shim of the SDK',
    ({ returns }) => {
      returns(inputRequired({ inputRequests: { color: inputRequired.elicit(FORM) } } as never));
      return new Promise(() => {});
    },
  ];

  async function asking(ask: (inner: Inner) => Promise<unknown>) {
    const made = await nest({ major, protect: { timeoutMs: 1_000, tools: { inner: { timeoutMs: 500 } } } });
    const outer = await made.start(7);
    const calling = made.estop.callTool(outer.ctx, 'inner');
    calling.catch(() => {});
    const nested = await made.inner();
    const answered = ask(nested);
    answered.catch(() => {});
    const asked = await made.peer.frameThat('the question', ({ method }) => method === 'elicitation/create');
    return { ...made, outer: outer as Held, nested, answered, asked, calling };
  }

  test.each(major === 'v2' ? [...ASKING, SHIM] : ASKING)(
    'through %s: its own deadline stands still',
    async (_name, ask) => {
      const { clock, nested } = await asking(ask);
      clock.advance(3_600_000);
      expect(nested.signal.reason).toBeUndefined();
    },
  );

  test.each(major === 'v2' ? [...ASKING, SHIM] : ASKING)(
    "through %s: its caller's deadline stands still too",
    async (_name, ask) => {
      const { clock, outer } = await asking(ask);
      clock.advance(3_600_000);
      expect(outer.signal.reason).toBeUndefined();
    },
  );

  test.each(ASKING)('through %s: both go on after the answer', async (_name, ask) => {
    const { clock, estop, outer, nested, answered, asked, peer } = await asking(ask);
    peer.write({ jsonrpc: '2.0', id: asked.id ?? -1, result: { action: 'decline' } });
    await answered;
    clock.advance(400);
    expect(estop.call(nested.ctx).remaining()).toBe(100);
    expect(estop.call(outer.ctx).remaining()).toBe(600);
  });

  test.each(ASKING)("through %s: the caller's stop cancels the question", async (_name, ask) => {
    const { answered, asked, outer, peer } = await asking(ask);
    peer.write(cancelFrame(7));
    await aborted(outer.signal);
    await expect(answered).rejects.toBe(outer.signal.reason);
    await peer.frameThat(
      'the cancel of the question',
      ({ method, params }) => method === 'notifications/cancelled' && params.requestId === asked.id,
    );
    await peer.fence();
    expect(peer.frames.filter(({ method }) => method === 'notifications/cancelled')).toHaveLength(1);
  });
});
