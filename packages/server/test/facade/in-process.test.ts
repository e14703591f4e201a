/** Tools that the program calls itself, and tools that call tools: no SDK in between, the same engine. */
import { getEventListeners } from 'node:events';
import { createMcpServer, StopReason } from '@estop/server';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { processEvents } from '../support/process-events.ts';
import { GRACE_MS } from '../support/rig.ts';
import { soon, turns } from '../support/waiting.ts';
import { appOn, clientOf, Holding } from './app.ts';

describe('callTool()', () => {
  test('resolves with what the handler returned, as it is', async () => {
    const value = { at: new Date(), big: 7n };
    const { app } = appOn();
    app.tool({ name: 'gives', handler: () => value }).tool({ name: 'echo', handler: (args) => args });
    expect(await app.callTool('gives')).toBe(value);
    expect(await app.callTool('echo', { a: 1 })).toEqual({ a: 1 });
    expect(await app.callTool('echo')).toEqual({});
    expect(app.stats()).toMatchObject({ inFlight: 0, running: 0 });
  });

  test('rejects with what the handler threw, as it is', async () => {
    const error = new RangeError('no luck');
    const { app } = appOn();
    app.tool({ name: 'throws', handler: () => Promise.reject(error) });
    await expect(app.callTool('throws')).rejects.toBe(error);
  });

  test('checks the arguments, also by a schema that takes its time, before the handler sees them', async () => {
    const holding = new Holding();
    const { app } = appOn();
    const input = z.object({ list: z.array(z.string()), n: z.number().default(3) }).refine(async ({ n }) => n < 10);
    app.tool({ name: 'picky', input, handler: holding.handler });
    await expect(app.callTool('picky', { list: ['a', 7] })).rejects.toThrow(
      /^estop: tool "picky": invalid arguments: list\.1: /,
    );
    await expect(app.callTool('picky', { list: [], n: 10 })).rejects.toThrow(TypeError);
    expect(holding.starts).toBe(0);
    const called = app.callTool('picky', { list: ['a'] });
    const { args, returns } = await holding.started();
    expect(args).toEqual({ list: ['a'], n: 3 });
    returns('fine');
    expect(await called).toBe('fine');
  });

  test('a stop while the arguments are being checked: the handler is never started', async () => {
    const holding = new Holding();
    const { app, clock } = appOn({ toolTimeoutMs: 100 });
    let checked = (): void => {};
    const input = z.object({}).refine(() => new Promise<boolean>((resolve) => (checked = () => resolve(true))));
    const called = app.tool({ name: 'slow', input, handler: holding.handler }).callTool('slow');
    called.catch(() => {});
    await turns();
    clock.advance(100);
    await expect(called).rejects.toMatchObject({ kind: 'deadline' });
    checked();
    await turns();
    expect(holding.starts).toBe(0);
    expect(app.stats().inFlight).toBe(0);
  });

  test("an invocation's timeout goes before the tool's; the error names the tool and the milliseconds", async () => {
    const holding = new Holding();
    const { app, clock } = appOn();
    app.tool({ name: 'scrape', timeoutMs: 5_000, handler: holding.handler });
    const own = app.callTool('scrape', {}, { timeoutMs: 2_000 });
    const usual = app.callTool('scrape');
    for (const call of [own, usual]) call.catch(() => {});
    const [first, second] = [await holding.started(0), await holding.started(1)];
    clock.advance(2_000);
    await expect(own).rejects.toThrow('tool "scrape" reached its deadline of 2000 ms');
    await expect(own).rejects.toBe(first.context.signal.reason);
    await expect(own).rejects.toMatchObject({ kind: 'deadline', name: 'TimeoutError', timeoutMs: 2_000 });
    expect(second.context.isCancelled).toBe(false);
    clock.advance(3_000);
    await expect(usual).rejects.toMatchObject({ timeoutMs: 5_000 });
  });

  test('waits for the limits like a call from outside, and a deaf handler frees its slot at the deadline', async () => {
    const holding = new Holding();
    const { app, clock } = appOn();
    app.tool({ name: 'one', maxConcurrency: 1, timeoutMs: 100, handler: holding.handler });
    const first = app.callTool('one');
    first.catch(() => {});
    await holding.started();
    const second = app.callTool('one');
    expect(app.stats()).toMatchObject({ running: 1, queued: 1 });
    clock.advance(100);
    (await holding.started(1)).returns('next');
    expect(await second).toBe('next');
    expect(app.stats()).toMatchObject({ abandoned: 1, running: 0 });
    await expect(first).rejects.toThrow(StopReason);
  });

  test('is refused with the reason when there is no room and it may not wait', async () => {
    const holding = new Holding();
    const { app } = appOn({ maxConcurrency: 1, maxQueue: 0 });
    app.tool({ name: 'one', handler: holding.handler });
    const first = app.callTool('one');
    await expect(app.callTool('one')).rejects.toMatchObject({ kind: 'overloaded' });
    (await holding.started()).returns();
    await first;
  });

  test('a signal that aborts stops the call: the promise rejects with its reason, the handler has it as the cause', async () => {
    const holding = new Holding();
    const { app } = appOn();
    app.tool({ name: 'hold', handler: holding.handler });
    const stop = new AbortController();
    const called = app.callTool('hold', {}, { signal: stop.signal });
    called.catch(() => {});
    const { context } = await holding.started();
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1);
    const why = new Error('changed my mind');
    stop.abort(why);
    await expect(called).rejects.toBe(why);
    expect(context.signal.reason).toMatchObject({ kind: 'cancelled', by: 'library', cause: why });
    expect(context.signal.reason.message).toBe('Request cancelled: changed my mind');
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
  });

  test('a signal that has aborted already never starts the handler', async () => {
    const holding = new Holding();
    const { app } = appOn();
    app.tool({ name: 'hold', handler: holding.handler });
    const signal = AbortSignal.abort();
    await expect(app.callTool('hold', {}, { signal })).rejects.toBe(signal.reason);
    expect(holding.starts).toBe(0);
    expect(app.stats().inFlight).toBe(0);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  test('a signal that aborts after the deadline changes nothing, and one of a call that ended is let go', async () => {
    const holding = new Holding();
    const { app, clock } = appOn();
    app.tool({ name: 'hold', timeoutMs: 10, handler: holding.handler });
    const stop = new AbortController();
    const called = app.callTool('hold', {}, { signal: stop.signal });
    called.catch(() => {});
    const { context } = await holding.started();
    clock.advance(10);
    stop.abort(new Error('late'));
    await expect(called).rejects.toBe(context.signal.reason);
    const other = new AbortController();
    const fine = app.callTool('hold', {}, { signal: other.signal });
    (await holding.started(1)).returns('fine');
    await fine;
    expect(getEventListeners(other.signal, 'abort')).toHaveLength(0);
  });

  test("with another call's signal it is stopped for that call's own reason", async () => {
    const holding = new Holding();
    const { app, clock } = appOn();
    app.tool({ name: 'inner', handler: holding.handler });
    app.tool({
      name: 'outer',
      timeoutMs: 10,
      handler: (_args, { signal }) => app.callTool('inner', {}, { signal }),
    });
    const outer = app.callTool('outer');
    outer.catch(() => {});
    const inner = await holding.started();
    clock.advance(10);
    await expect(outer).rejects.toThrow('tool "outer" reached its deadline of 10 ms');
    await expect(outer).rejects.toBe(inner.context.signal.reason);
  });

  test('of a tool that is not there says which there are', async () => {
    const { app } = appOn();
    await expect(app.callTool('any')).rejects.toThrow('estop: there is no tool "any"; there is none at all');
    app.tool({ name: 'scrape', handler() {} }).tool({ name: 'query', handler() {} });
    await expect(app.callTool('scrap')).rejects.toThrow(
      'estop: there is no tool "scrap"; there are: "scrape", "query"',
    );
    await expect(app.callTool('scrap')).rejects.toThrow(TypeError);
  });

  test('refuses a bad timeout and what is no signal, and keeps nothing in flight', async () => {
    const { app } = appOn();
    app.tool({ name: 'scrape', handler() {} });
    await expect(app.callTool('scrape', {}, { timeoutMs: NaN })).rejects.toThrow(
      'estop: callTool("scrape"): timeoutMs must be a number of milliseconds >= 0, got NaN',
    );
    await expect(app.callTool('scrape', {}, { signal: {} as AbortSignal })).rejects.toThrow(
      'estop: callTool(): signal must be an AbortSignal',
    );
    expect(app.stats().inFlight).toBe(0);
  });
});

describe('context.callTool()', () => {
  test('resolves with what the other handler returned, and rejects with what it threw', async () => {
    const error = new Error('inner');
    const { app } = appOn();
    app
      .tool({ name: 'gives', input: z.object({ n: z.number() }), handler: ({ n }) => ({ n: n + 1 }) })
      .tool({ name: 'throws', handler: () => Promise.reject(error) })
      .tool({
        name: 'calls',
        handler: ({ name, args }: { name: string; args: unknown }, context) => context.callTool(name, args),
      });
    expect(await app.callTool('calls', { name: 'gives', args: { n: 1 } })).toEqual({ n: 2 });
    await expect(app.callTool('calls', { name: 'throws' })).rejects.toBe(error);
    await expect(app.callTool('calls', { name: 'gives', args: {} })).rejects.toThrow('estop: tool "gives": invalid');
    await expect(app.callTool('calls', { name: 'gone' })).rejects.toThrow('estop: there is no tool "gone"');
  });

  test("the parent's stop is its stop, with the same reason; also three deep", async () => {
    const holding = new Holding();
    const { app } = appOn();
    app
      .tool({ name: 'inner', handler: holding.handler })
      .tool({ name: 'middle', handler: (_args, context) => context.callTool('inner') })
      .tool({ name: 'outer', handler: (_args, context) => context.callTool('middle') });
    const client = await clientOf(app, 'legacy');
    const stop = new AbortController();
    const called = client.callTool({ name: 'outer' }, { signal: stop.signal });
    const { context, returns } = await holding.started();
    expect(app.stats().running).toBe(3);
    stop.abort();
    await expect(called).rejects.toThrow();
    while (!context.isCancelled) await turns();
    expect(context.signal.reason).toMatchObject({ kind: 'cancelled', by: 'client' });
    returns();
    while (app.stats().inFlight > 0) await turns();
  });

  test('that nobody awaits is stopped when its parent returns, and is no unhandled rejection', async () => {
    const events = processEvents();
    const holding = new Holding();
    const { app } = appOn();
    app.tool({ name: 'inner', handler: holding.handler }).tool({
      name: 'outer',
      async handler(_args, context) {
        void context.callTool('inner');
        void context.callTool('not there');
        await holding.started();
        return 'did not wait';
      },
    });
    expect(await app.callTool('outer')).toBe('did not wait');
    const { context, returns } = await holding.started();
    while (!context.isCancelled) await turns();
    expect(context.signal.reason).toMatchObject({ kind: 'cancelled', by: 'library' });
    returns();
    await turns();
    expect(app.stats().inFlight).toBe(0);
    expect(events.unhandled).toEqual([]);
  });

  test('has a deadline of its own, and the parent goes on', async () => {
    const holding = new Holding();
    const { app, clock } = appOn();
    app.tool({ name: 'inner', handler: holding.handler }).tool({
      name: 'outer',
      async handler(_args, context) {
        try {
          return await context.callTool('inner', {}, { timeoutMs: 20 });
        } catch (reason) {
          return (reason as Error).message;
        }
      },
    });
    const outer = app.callTool('outer');
    const { returns } = await holding.started();
    clock.advance(20);
    expect(await soon(outer, 'the parent returns')).toBe('tool "inner" reached its deadline of 20 ms');
    returns();
  });

  test("runs on its parent's place, and may enter a mutex that its parent holds", async () => {
    const { app } = appOn({ maxConcurrency: 1 });
    app
      .tool({ name: 'inner', sequential: 'one', handler: () => 'in' })
      .tool({ name: 'outer', sequential: 'one', handler: (_args, context) => context.callTool('inner') });
    expect(await soon(app.callTool('outer'), 'nobody waits for himself')).toBe('in');
  });

  test('after the parent has ended is an error', async () => {
    const { app } = appOn();
    let late: (() => Promise<unknown>) | undefined;
    app.tool({ name: 'inner', handler: () => 'in' }).tool({
      name: 'outer',
      handler(_args, context) {
        late = () => context.callTool('inner');
      },
    });
    await app.callTool('outer');
    await expect(late?.()).rejects.toThrow('estop: tool "outer" is not running, so it can make no call');
  });
});

describe('stop()', () => {
  test('stops every call as shut down, refuses what comes later, and is one however often it is called', async () => {
    const holding = new Holding();
    const { app, clock } = appOn();
    app.tool({ name: 'deaf', handler: holding.handler });
    const called = app.callTool('deaf');
    called.catch(() => {});
    await holding.started();
    const stopped = app.stop();
    expect(app.stop()).toBe(stopped);
    await expect(called).rejects.toMatchObject({ kind: 'shutdown' });
    await expect(app.callTool('deaf')).rejects.toMatchObject({ kind: 'shutdown' });
    await turns();
    clock.advance(GRACE_MS);
    await soon(stopped, 'it resolves though the handler runs on');
    expect(app.stats().abandoned).toBe(1);
    expect(holding.starts).toBe(1);
  });

  test('of a server that was never served or called does nothing', async () => {
    await createMcpServer({ name: 'idle' }).stop();
  });
});
