/** The façade as clients of both eras see it: what they are told, what reaches a handler, and what a stop does. */
import { OUTCOME_META, type ToolContext } from '@estop/server';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import * as z from 'zod';
import { ERAS, MemoryPeer } from '../support/peer.ts';
import { GRACE_MS } from '../support/rig.ts';
import { latch, soon, turns } from '../support/waiting.ts';
import { appOn, clientOf, Holding } from './app.ts';

describe.each(ERAS)('%s:', (era) => {
  describe('at its deadline a call whose handler listens to nothing', () => {
    test('has its signal aborted, and its client answered with the tool and the milliseconds', async () => {
      const holding = new Holding();
      const { app, clock } = appOn({ toolTimeoutMs: 30_000 });
      const client = await clientOf(app.tool({ name: 'deaf', handler: holding.handler }), era);
      const called = client.callTool({ name: 'deaf' });
      const { context } = await holding.started();
      clock.advance(29_999);
      expect(context.signal.aborted).toBe(false);
      expect(context.remaining()).toBe(1);
      clock.advance(1);
      expect(context.signal.aborted).toBe(true);
      expect(context.signal.reason).toMatchObject({ kind: 'deadline', timeoutMs: 30_000 });
      expect(await soon(called, 'the client is answered')).toMatchObject({
        isError: true,
        content: [{ type: 'text', text: 'tool "deaf" reached its deadline of 30000 ms' }],
        _meta: { [OUTCOME_META]: { kind: 'deadline', handler: 'running' } },
      });
      expect(app.stats()).toMatchObject({ running: 0, abandoned: 1 });
    });

    test('gives its slot to the next call', async () => {
      const holding = new Holding();
      const { app, clock } = appOn({ maxConcurrency: 1, toolTimeoutMs: 100 });
      const client = await clientOf(app.tool({ name: 'deaf', handler: holding.handler }), era);
      const first = client.callTool({ name: 'deaf' });
      await holding.started();
      const second = client.callTool({ name: 'deaf' });
      while (app.stats().queued === 0) await turns();
      expect(holding.starts).toBe(1);
      clock.advance(100);
      (await holding.started(1)).returns('there was room');
      expect(await soon(second, 'the second is answered')).toMatchObject({ content: [{ text: 'there was room' }] });
      expect(await first).toMatchObject({ isError: true });
    });

    test('of a mutex keeps it shut until the handler has settled', async () => {
      const holding = new Holding();
      const { app, clock } = appOn({ toolTimeoutMs: 100 });
      const client = await clientOf(app.tool({ name: 'alone', sequential: true, handler: holding.handler }), era);
      const first = client.callTool({ name: 'alone' });
      const { returns } = await holding.started();
      const second = client.callTool({ name: 'alone' });
      while (app.stats().queued === 0) await turns();
      clock.advance(100);
      await first;
      await turns();
      expect(holding.starts).toBe(1);
      returns();
      (await holding.started(1)).returns('alone again');
      expect(await second).toMatchObject({ content: [{ text: 'alone again' }] });
    });
  });

  test("a client's cancel reaches the signal, the listeners and whoever asks", async () => {
    const holding = new Holding();
    const { app } = appOn();
    const client = await clientOf(app.tool({ name: 'hold', handler: holding.handler }), era);
    const stop = new AbortController();
    const called = client.callTool({ name: 'hold' }, { signal: stop.signal });
    const { context, returns } = await holding.started();
    const heard = latch<unknown>();
    context.onStop(heard.open);
    stop.abort(new Error('enough'));
    await expect(called).rejects.toThrow();
    expect(await soon(heard.promise, 'the listener hears')).toBe(context.signal.reason);
    expect(context.signal.reason).toMatchObject({ kind: 'cancelled', by: 'client' });
    expect(context.isCancelled).toBe(true);
    expect(() => context.throwIfStopped()).toThrow(context.signal.reason);
    returns('too late');
    while (app.stats().inFlight > 0) await turns();
  });

  test("a tool's timeout goes before the server's, and 0 is none", async () => {
    const holding = new Holding();
    const { app, clock } = appOn({ toolTimeoutMs: 1_000 });
    app
      .tool({ name: 'short', timeoutMs: 10, handler: holding.handler })
      .tool({ name: 'endless', timeoutMs: 0, handler: holding.handler })
      .tool({ name: 'as-the-server-says', handler: holding.handler });
    const client = await clientOf(app, era);
    const calls = ['short', 'endless', 'as-the-server-says'].map((name) => client.callTool({ name }));
    const [short, endless, other] = await Promise.all([0, 1, 2].map((nth) => holding.started(nth)));
    clock.advance(10);
    expect([short, endless, other].map((hold) => hold?.context.isCancelled)).toEqual([true, false, false]);
    clock.advance(2 ** 31);
    expect([short, endless, other].map((hold) => hold?.context.isCancelled)).toEqual([true, false, true]);
    endless?.returns('took its time');
    expect(await calls[1]).toMatchObject({ content: [{ text: 'took its time' }] });
    await Promise.all(calls);
  });

  test('progress reaches the client that asked, and starts a deadline anew where the tool wants that', async () => {
    const holding = new Holding();
    const { app, clock } = appOn();
    const tool = { timeoutMs: 100, resetTimeoutOnProgress: true, maxTotalTimeoutMs: 250, handler: holding.handler };
    const client = await clientOf(app.tool({ name: 'slow', ...tool }).tool({ name: 'unwatched', ...tool }), era);
    const seen: unknown[] = [];
    const calls = [
      client.callTool({ name: 'slow' }, { onprogress: (progress) => void seen.push(progress) }),
      client.callTool({ name: 'unwatched' }),
    ];
    const [slow, unwatched] = [await holding.started(0), await holding.started(1)];
    for (const at of [90, 180]) {
      clock.advance(90);
      slow.context.progress({ progress: at, total: 250 });
      unwatched.context.progress({ progress: at });
    }
    expect(slow.context.remaining()).toBe(70);
    expect(unwatched.context.remaining()).toBe(70);
    clock.advance(70);
    slow.context.progress({ progress: 250 });
    expect(await Promise.all(calls)).toMatchObject([{ isError: true }, { isError: true }]);
    expect(seen).toMatchObject([{ progress: 90, total: 250 }, { progress: 180 }]);
    expect(seen).toHaveLength(2);
  });

  test('progress that is reported after the answer is written nowhere', async () => {
    let late: ToolContext | undefined;
    const { app } = appOn();
    app.tool({
      name: 'quick',
      handler(_args, context) {
        late = context;
        return 'done';
      },
    });
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    const peer = new MemoryPeer(era, ours);
    const serving = await app.serve({ transport: theirs });
    onTestFinished(() => serving.close());
    await peer.initialize();
    peer.write(peer.callTool(7, 'quick', {}, { progressToken: 7 }));
    await peer.answer(7);
    late?.progress({ progress: 1 });
    await peer.fence();
    expect(peer.about(7)).toHaveLength(1);
  });

  test('without an input schema the arguments pass through as they came; an empty object when there were none', async () => {
    const { app } = appOn();
    const client = await clientOf(app.tool({ name: 'echo', handler: (args) => args }), era);
    const args = { url: 7, deep: { list: [null, true] } };
    expect(await client.callTool({ name: 'echo', arguments: args })).toMatchObject({
      content: [{ type: 'text', text: JSON.stringify(args) }],
    });
    expect(await client.callTool({ name: 'echo' })).toMatchObject({ content: [{ text: '{}' }] });
  });

  test('with one they are checked, and changed as it says; the handler never sees those that do not fit', async () => {
    const seen: unknown[] = [];
    const { app } = appOn();
    const input = z.object({ url: z.string(), depth: z.number().default(1) });
    app.tool({
      name: 'scrape',
      input,
      handler({ url, depth }) {
        // The types are the schema's.
        const types: [string, number] = [url, depth];
        seen.push(types);
      },
    });
    const client = await clientOf(app, era);
    await client.callTool({ name: 'scrape', arguments: { url: 'a' } });
    const bad = await client.callTool({ name: 'scrape', arguments: { url: 7 } });
    expect(bad).toMatchObject({ isError: true });
    expect(JSON.stringify(bad.content)).toContain('scrape');
    expect(seen).toEqual([['a', 1]]);
  });

  test('clients are shown what a tool says of itself', async () => {
    const { app } = appOn({ name: 'shop', version: '3.1.4', instructions: 'Ask politely.' });
    app.tool({
      name: 'buy',
      title: 'Buy',
      description: 'Buys a thing',
      annotations: { destructiveHint: true },
      input: z.object({ thing: z.string() }),
      output: z.object({ price: z.number() }),
      handler: () => ({ price: 1 }),
    });
    app.tool({ name: 'bare', handler() {} });
    const client = await clientOf(app, era);
    expect(client.getServerVersion()).toMatchObject({ name: 'shop', version: '3.1.4' });
    expect(client.getInstructions()).toBe('Ask politely.');
    const { tools } = await client.listTools();
    expect(tools).toMatchObject([
      {
        name: 'buy',
        title: 'Buy',
        description: 'Buys a thing',
        annotations: { destructiveHint: true },
        inputSchema: { type: 'object', required: ['thing'] },
        outputSchema: { type: 'object', required: ['price'] },
      },
      { name: 'bare', inputSchema: { type: 'object' } },
    ]);
    expect(tools[1]).not.toHaveProperty('outputSchema');
  });

  test('a tool that is added while a client is connected can be called, with its own deadline', async () => {
    const holding = new Holding();
    const { app, clock } = appOn();
    const client = await clientOf(app, era);
    expect((await client.listTools()).tools).toEqual([]);
    const told = latch();
    client.setNotificationHandler('notifications/tools/list_changed', () => told.open());
    app.tool({ name: 'late', timeoutMs: 5, handler: holding.handler });
    // A modern client hears only of what it has subscribed to.
    if (era === 'legacy') await soon(told.promise, 'the client is told');
    expect((await client.listTools()).tools).toMatchObject([{ name: 'late' }]);
    const called = client.callTool({ name: 'late' });
    await holding.started();
    clock.advance(5);
    expect(await called).toMatchObject({
      isError: true,
      content: [{ text: 'tool "late" reached its deadline of 5 ms' }],
    });
  });

  test('what a handler throws is an error result with its message', async () => {
    const { app } = appOn();
    app.tool({
      name: 'throws',
      handler() {
        throw new Error('no luck');
      },
    });
    const client = await clientOf(app, era);
    expect(await client.callTool({ name: 'throws' })).toMatchObject({ isError: true, content: [{ text: 'no luck' }] });
  });

  test('stop() answers the calls in flight as shut down, closes, and is done when their grace is over', async () => {
    const holding = new Holding();
    const { app, clock } = appOn();
    const client = await clientOf(app.tool({ name: 'deaf', handler: holding.handler }), era);
    const closed = latch();
    client.onclose = closed.open;
    const called = client.callTool({ name: 'deaf' });
    const { context } = await holding.started();
    let over = false;
    const stopped = app.stop().then(() => {
      over = true;
    });
    expect(context.signal.reason).toMatchObject({ kind: 'shutdown' });
    expect(await soon(called, 'the client is answered')).toMatchObject({
      isError: true,
      content: [{ text: 'The server is shutting down' }],
    });
    await soon(closed.promise, 'the connection is closed');
    await turns();
    expect(over).toBe(false);
    clock.advance(GRACE_MS);
    await soon(stopped, 'stop() resolves');
    await expect(app.callTool('deaf')).rejects.toMatchObject({ kind: 'shutdown' });
    await expect(app.serve()).rejects.toThrow('estop: serve(): app was stopped');
    expect(holding.starts).toBe(1);
  });

  test('stop() answers also the call whose handler ends at once, with more than one client', async () => {
    const { app } = appOn({ graceMs: 0 });
    let started = 0;
    app.tool({
      name: 'listens',
      handler(_args, { signal }) {
        started += 1;
        return new Promise((resolve) => signal.addEventListener('abort', resolve));
      },
    });
    const clients = [await clientOf(app, era), await clientOf(app, era)];
    const calls = clients.map((client) => client.callTool({ name: 'listens' }));
    while (started < 2) await turns();
    await soon(app.stop(), 'stop() resolves');
    const down = { isError: true, content: [{ text: 'The server is shutting down' }] };
    expect(await Promise.all(calls)).toMatchObject([down, down]);
    expect(app.stats()).toMatchObject({ inFlight: 0, abandoned: 0 });
  });

  test('a client that hangs up has its calls stopped, and another one keeps its own', async () => {
    const holding = new Holding();
    const { app } = appOn();
    app.tool({ name: 'hold', handler: holding.handler });
    const [leaving, staying] = [await clientOf(app, era), await clientOf(app, era)];
    const lost = leaving.callTool({ name: 'hold' });
    lost.catch(() => {});
    const first = await holding.started();
    const kept = staying.callTool({ name: 'hold' });
    const second = await holding.started(1);
    await leaving.close();
    expect(first.context.signal.reason).toMatchObject({ kind: 'disconnected' });
    expect(second.context.isCancelled).toBe(false);
    second.returns('kept');
    expect(await kept).toMatchObject({ content: [{ text: 'kept' }] });
  });
});

test('the context is its own `extra`, and works when it is taken apart', async () => {
  const { app } = appOn({ toolTimeoutMs: 100 });
  let seen: ToolContext | undefined;
  app.tool({
    name: 'looks',
    handler(_args, context) {
      seen = context;
      const { signal, isCancelled, throwIfStopped, remaining, progress, onStop, callTool } = context;
      expect(context.extra).toBe(context);
      expect(context.extra.signal).toBe(signal);
      expect([signal.aborted, isCancelled, remaining(), typeof callTool]).toEqual([false, false, 100, 'function']);
      throwIfStopped();
      progress({ progress: 1 });
      onStop(() => {})();
      return 'looked';
    },
  });
  const client = await clientOf(app, 'legacy');
  expect(await client.callTool({ name: 'looks' })).toMatchObject({ content: [{ text: 'looked' }] });
  expect(seen?.signal.aborted).toBe(false);
});

test('the default deadline is 50 000 ms; ESTOP_TOOL_TIMEOUT_MS goes before it, and the server before that', async () => {
  const remaining = async (options: object): Promise<unknown> => {
    const { app } = appOn(options);
    return app.tool({ name: 'asks', handler: (_args, context) => context.remaining() }).callTool('asks');
  };
  expect(await remaining({})).toBe(50_000);
  vi.stubEnv('ESTOP_TOOL_TIMEOUT_MS', '7000');
  try {
    expect(await remaining({})).toBe(7_000);
    expect(await remaining({ toolTimeoutMs: 3_000 })).toBe(3_000);
    expect(await remaining({ toolTimeoutMs: 0 })).toBe(Infinity);
  } finally {
    vi.unstubAllEnvs();
  }
});
