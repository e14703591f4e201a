/** What a stop does on the wire and in the handler, on a real SDK server; time is virtual where there is any. */
import { createEstop, type Estop, type EstopOptions, OUTCOME_META, StopReason } from '@estop/server';
import { Client } from '@modelcontextprotocol/client';
import { CancelledNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { InMemoryTransport, McpServer, Server, type ServerContext } from '@modelcontextprotocol/server';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Held, HeldServer, RESULT } from '../support/held-server.ts';
import { type Major, wordsOf } from '../support/majors.ts';
import { cancelFrame, connectByHand, type Era, type MemoryPeer, serveProtected } from '../support/peer.ts';
import { processEvents } from '../support/process-events.ts';
import { GRACE_MS } from '../support/rig.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { latch, soon, turns } from '../support/waiting.ts';

interface Setup {
  readonly major: Major;
  readonly clock: VirtualClock;
  readonly estop: Estop;
  readonly held: HeldServer;
  readonly peer: MemoryPeer;
}

type SetUp = (options?: EstopOptions) => Promise<Setup>;

function virtually(options: EstopOptions = {}, major: Major = 'v2'): Omit<Setup, 'peer'> {
  const clock = new VirtualClock();
  return { clock, estop: createEstop({ clock, graceMs: GRACE_MS, ...options }), held: new HeldServer(major), major };
}

const byHand = async (options?: EstopOptions, major?: Major): Promise<Setup> => {
  const made = virtually(options, major);
  made.estop.protect(made.held.server);
  const peer = await connectByHand(made.held.server);
  onTestFinished(() => made.held.releaseAll());
  return { ...made, peer };
};

const served =
  (era: Era, major?: Major): SetUp =>
  async (options) => {
    const made = virtually(options, major);
    const { peer } = await serveProtected(era, made.estop, () => made.held.server);
    // The first request pins the connection's era.
    await peer.request('tools/list');
    onTestFinished(() => made.held.releaseAll());
    return { ...made, peer };
  };

const WAYS: [string, SetUp][] = [
  ['connected by hand', byHand],
  ['served over stdio, legacy', served('legacy')],
  ['served over stdio, modern', served('modern')],
  ['SDK v1, connected by hand', (options) => byHand(options, 'v1')],
  ['SDK v1, served over stdio', served('legacy', 'v1')],
];

describe.each(WAYS)('%s', (_way, setUp) => {
  describe('a cancel in the same write as its call', () => {
    test('never starts the handler, and nothing is written for the call', async () => {
      const { estop, held, peer } = await setUp();
      peer.write(peer.callTool(7, 'hold'), cancelFrame(7));
      await peer.fence();
      expect(held.starts).toEqual([]);
      expect(peer.about(7)).toEqual([]);
      expect(estop.stats()).toMatchObject({ running: 0, inFlight: 0, ignoredCancels: 0 });
    });

    test.each([0, '', 'a-string'])('nor with %j as the id', async (id) => {
      const { estop, held, peer } = await setUp();
      peer.write(peer.callTool(id, 'hold'), cancelFrame(id));
      await peer.fence();
      expect(held.starts).toEqual([]);
      expect(peer.about(id)).toEqual([]);
      expect(estop.stats().inFlight).toBe(0);
    });

    test('does not touch the next call with that id', async () => {
      const { held, peer } = await setUp();
      peer.write(peer.callTool(7, 'hold'), cancelFrame(7));
      await peer.fence();
      peer.write(peer.callTool(7, 'hold'));
      (await held.handlerStarted(7)).returns(RESULT);
      expect((await peer.answer(7)).result).toMatchObject(RESULT);
    });

    test('nor another call in the very same write', async () => {
      const { held, peer } = await setUp();
      peer.write(peer.callTool(6, 'hold'), peer.callTool(7, 'hold'), cancelFrame(7), peer.callTool(8, 'hold'));
      for (const id of [6, 8]) {
        (await held.handlerStarted(id)).returns(RESULT);
        expect((await peer.answer(id)).result).toMatchObject(RESULT);
      }
      await peer.fence();
      expect(held.starts).toEqual([6, 8]);
    });
  });

  describe('a cancel of a call that runs', () => {
    test('reaches the handler, as cancelled by the client, with its words', async () => {
      const { held, peer } = await setUp();
      const { signal } = await startHolding(held, peer, 7);
      peer.write(cancelFrame(7, 'pressed Stop'));
      await aborted(signal);
      expect(signal.reason).toBeInstanceOf(StopReason);
      expect(signal.reason).toMatchObject({
        kind: 'cancelled',
        by: 'client',
        message: 'Request cancelled: pressed Stop',
      });
    });

    test('with "7" does not stop 7, and is counted', async () => {
      const { estop, held, peer } = await setUp();
      const { signal, returns } = await startHolding(held, peer, 7);
      peer.write(cancelFrame('7'));
      await peer.fence();
      expect(signal.aborted).toBe(false);
      expect(estop.stats()).toMatchObject({ running: 1, ignoredCancels: 1 });
      returns(RESULT);
      expect((await peer.answer(7)).result).toMatchObject(RESULT);
    });

    test.each([[{ id: 7 }], [null], [undefined], [[7]], [7.5], ['x'.repeat(300)]])(
      'with %j for an id stops nothing, and breaks nothing',
      async (id) => {
        const { held, peer } = await setUp();
        const { signal, returns } = await startHolding(held, peer, 7);
        peer.write(cancelFrame(id));
        await peer.fence();
        expect(signal.aborted).toBe(false);
        returns(RESULT);
        expect((await peer.answer(7)).result).toMatchObject(RESULT);
      },
    );

    test.each<[string, (held: Held) => void]>([
      ['returns late', ({ returns }) => returns(RESULT)],
      ['throws late', ({ throws }) => throws(new Error('late'))],
      ['throws its reason', ({ signal, throws }) => throws(signal.reason)],
      ['throws null', ({ throws }) => throws(null)],
    ])('writes nothing of it afterwards, also when the handler %s', async (_how, end) => {
      const events = processEvents();
      const { estop, held, peer } = await setUp();
      const holding = await startHolding(held, peer, 7);
      peer.write(cancelFrame(7));
      await aborted(holding.signal);
      await tellEverything(holding, held.server, 7);
      end(holding);
      await peer.fence();
      expect(peer.about(7)).toEqual([]);
      expect(peer.frames.filter(({ method }) => method === 'notifications/message')).toEqual([]);
      expect(estop.stats()).toMatchObject({ running: 0, abandoned: 0, inFlight: 0 });
      expect(events.unhandled).toEqual([]);
    });

    test('writes nothing of it either when the handler goes on past the grace', async () => {
      const { clock, estop, held, peer } = await setUp();
      const holding = await startHolding(held, peer, 7);
      peer.write(cancelFrame(7));
      await aborted(holding.signal);
      clock.advance(GRACE_MS + 5_000);
      await turns();
      expect(estop.stats()).toMatchObject({ abandoned: 1, inFlight: 1 });
      await tellEverything(holding, held.server, 7);
      holding.returns(RESULT);
      await peer.fence();
      expect(peer.about(7)).toEqual([]);
      expect(estop.stats()).toMatchObject({ abandoned: 0, inFlight: 0 });
    });

    test('writes no progress of it either once the call has left, and none is lost to a later call', async () => {
      const { estop, held, peer } = await setUp();
      const holding = await startHolding(held, peer, 7);
      peer.write(cancelFrame(7));
      await aborted(holding.signal);
      holding.returns(RESULT);
      await peer.fence();
      expect(estop.stats().inFlight).toBe(0);
      await tellEverything(holding, held.server, 7);
      await peer.fence();
      expect(peer.about(7)).toEqual([]);

      const next = startHolding(held, peer, 7, 1);
      await tellEverything(await next, held.server, 7);
      (await next).returns(RESULT);
      await peer.answer(7);
      expect(peer.about(7)).toHaveLength(3);
    });

    test('leaves the progress and the log of other calls alone', async () => {
      const { held, peer } = await setUp();
      const cancelledOne = await startHolding(held, peer, 7);
      const other = await startHolding(held, peer, 8);
      peer.write(cancelFrame(7));
      await aborted(cancelledOne.signal);
      await tellEverything(other, held.server, 8);
      other.returns(RESULT);
      await peer.answer(8);
      expect(peer.about(8).map(({ method, result }) => method ?? Object.keys(result).includes('content'))).toEqual([
        'notifications/progress',
        'notifications/progress',
        true,
      ]);
      expect(peer.frames.filter(({ method }) => method === 'notifications/message')).toHaveLength(1);
    });

    test.each([
      ['prompts/get', { name: 'hold' }],
      ['resources/read', { uri: 'test://hold' }],
    ])('stops %s as well, in silence', async (method, params) => {
      const { held, peer } = await setUp();
      peer.write(peer.frame(7, method, params));
      const { signal, returns } = await held.handlerStarted(7);
      peer.write(cancelFrame(7));
      await aborted(signal);
      returns({ contents: [], messages: [] });
      await peer.fence();
      expect(peer.about(7)).toEqual([]);
    });

    test('that was answered already is ignored and counted', async () => {
      const { estop, held, peer } = await setUp();
      const { signal, returns } = await startHolding(held, peer, 7);
      returns(RESULT);
      await peer.answer(7);
      peer.write(cancelFrame(7));
      await peer.fence();
      expect(signal.aborted).toBe(false);
      expect(estop.stats().ignoredCancels).toBe(1);
    });
  });

  describe('two calls with one id', () => {
    test('are both stopped by one cancel', async () => {
      const { held, peer } = await setUp();
      peer.write(peer.callTool(7, 'hold'), peer.callTool(7, 'hold'));
      const one = await held.handlerStarted(7, 0);
      const two = await held.handlerStarted(7, 1);
      peer.write(cancelFrame(7));
      await aborted(one.signal);
      await aborted(two.signal);
      one.returns(RESULT);
      two.returns(RESULT);
      await peer.fence();
      expect(peer.about(7)).toEqual([]);
    });

    test('the one that ends first takes nothing from the other', async () => {
      const { estop, held, peer } = await setUp();
      peer.write(peer.callTool(7, 'hold'), peer.callTool(7, 'hold'));
      const one = await held.handlerStarted(7, 0);
      const two = await held.handlerStarted(7, 1);
      one.returns(RESULT);
      await peer.answer(7);
      peer.write(cancelFrame(7));
      await aborted(two.signal);
      expect(one.signal.aborted).toBe(false);
      two.returns(RESULT);
      await peer.fence();
      expect(peer.about(7)).toHaveLength(1);
      expect(estop.stats()).toMatchObject({ inFlight: 0, ignoredCancels: 0 });
    });
  });

  describe('a deadline', () => {
    test('of a tool is answered as an error result that names the tool and the time, and says what became of it', async () => {
      const { clock, estop, held, peer } = await setUp({ timeoutMs: 5_000 });
      const { signal, returns } = await startHolding(held, peer, 7);
      clock.advance(5_000);
      const { result, error } = await peer.answer(7);
      expect(error).toBeUndefined();
      expect(result).toMatchObject({
        isError: true,
        content: [{ type: 'text', text: 'tool "hold" reached its deadline of 5000 ms' }],
        _meta: { [OUTCOME_META]: { kind: 'deadline', timeoutMs: 5_000, handler: 'running', work: 'none' } },
      });
      expect(OUTCOME_META).toBe('estop/outcome');
      expect(result).not.toHaveProperty('structuredContent');
      expect(signal.reason).toMatchObject({ kind: 'deadline', timeoutMs: 5_000 });
      expect(estop.stats()).toMatchObject({ running: 0, abandoned: 1 });

      returns(RESULT);
      await peer.fence();
      expect(peer.about(7)).toHaveLength(1);
      expect(estop.stats()).toMatchObject({ abandoned: 0, inFlight: 0 });
    });

    test.each([
      ['prompts/get', { name: 'hold' }, 'prompt "hold"'],
      ['resources/read', { uri: 'test://hold' }, 'resources/read "test://hold"'],
    ])('of %s is answered with a JSON-RPC error that carries the kind', async (method, params, what) => {
      const { clock, held, peer } = await setUp({ timeoutMs: 5_000 });
      peer.write(peer.frame(7, method, params));
      const { returns } = await held.handlerStarted(7);
      clock.advance(5_000);
      expect((await peer.answer(7)).error).toEqual({
        code: -32_000,
        message: `${what} reached its deadline of 5000 ms`,
        data: { kind: 'deadline', timeoutMs: 5_000, handler: 'running', work: 'none' },
      });
      returns({ contents: [], messages: [] });
    });

    test('that is over is followed by nothing of that call', async () => {
      const { clock, held, peer } = await setUp({ timeoutMs: 5_000 });
      const holding = await startHolding(held, peer, 7);
      clock.advance(5_000);
      await peer.answer(7);
      await tellEverything(holding, held.server, 7);
      holding.throws(new Error('late'));
      await peer.fence();
      expect(peer.about(7)).toHaveLength(1);
    });

    test('is not extended, nor is its answer taken back, by a cancel that comes too late', async () => {
      const { clock, estop, held, peer } = await setUp({ timeoutMs: 5_000 });
      const { signal, returns } = await startHolding(held, peer, 7);
      clock.advance(5_000);
      await peer.answer(7);
      peer.write(cancelFrame(7));
      await peer.fence();
      expect(signal.reason.kind).toBe('deadline');
      expect(estop.stats().ignoredCancels).toBe(1);
      returns(RESULT);
    });

    test('that was never reached leaves no timer behind', async () => {
      const { clock, held, peer } = await setUp({ timeoutMs: 5_000 });
      (await startHolding(held, peer, 7)).returns(RESULT);
      await peer.answer(7);
      expect(clock.pending).toBe(0);
    });
  });

  describe('when the client is gone', () => {
    test('every call is stopped as disconnected, and what its handlers do afterwards is no unhandled rejection', async () => {
      const events = processEvents();
      const { estop, held, peer } = await setUp();
      const one = await startHolding(held, peer, 7);
      const two = await startHolding(held, peer, 8);
      await peer.hangUp();
      expect(one.signal.reason).toMatchObject({ kind: 'disconnected' });
      expect(two.signal.reason).toMatchObject({ kind: 'disconnected' });
      fireAndForget(one, 7);
      fireAndForget(two, 8);
      one.returns(RESULT);
      two.throws(new Error('late'));
      await turns();
      expect(estop.stats()).toMatchObject({ running: 0, inFlight: 0 });
      expect(events.unhandled).toEqual([]);
    });

    test('nor is what a handler does whose call had ended well before', async () => {
      const events = processEvents();
      const { held, peer } = await setUp();
      const holding = await startHolding(held, peer, 7);
      holding.returns(RESULT);
      await peer.answer(7);
      await peer.hangUp();
      fireAndForget(holding, 7);
      await turns();
      expect(events.unhandled).toEqual([]);
    });
  });

  test('a stop rejects what asks the client, with the reason, and without an unhandled rejection', async () => {
    const events = processEvents();
    const { held, peer } = await setUp();
    const { ctx, signal, returns } = await startHolding(held, peer, 7);
    peer.write(cancelFrame(7));
    await aborted(signal);
    const form = { mode: 'form', message: 'Sure?', requestedSchema: { type: 'object', properties: {} } } as const;
    const sampling = { messages: [], maxTokens: 1 };
    for (const ask of [
      () => wordsOf(ctx).send({ method: 'ping' }),
      () => wordsOf(ctx).elicitInput(form),
      () => wordsOf(ctx).requestSampling(sampling),
    ]) {
      void ask();
      await expect(ask()).rejects.toBe(signal.reason);
    }
    returns(RESULT);
    await peer.fence();
    expect(events.unhandled).toEqual([]);
    expect(peer.frames.filter(({ id, method }) => id !== undefined && method !== undefined)).toEqual([]);
  });

  test('a malformed call that the SDK answers itself leaves nothing behind, cancelled or not', async () => {
    const { estop, peer } = await setUp();
    peer.write(peer.frame(7, 'tools/call', { arguments: {} }));
    peer.write(peer.frame(8, 'tools/call', { name: 7 }), cancelFrame(8));
    peer.write({ ...peer.callTool(9, 'hold'), params: { name: 'nobody', arguments: 7 } });
    peer.write(peer.frame(10, 'completion/complete', { ref: {} }), cancelFrame(10));
    await peer.answer(7);
    await peer.answer(9);
    await peer.fence();
    expect(peer.about(8)).toEqual([]);
    expect(estop.stats()).toMatchObject({ running: 0, abandoned: 0, inFlight: 0 });
  });

  test("a stop arrives though the author has replaced the SDK's own handler of cancels", async () => {
    const { held, major, peer } = await setUp();
    const seen: unknown[] = [];
    const which = major === 'v1' ? (CancelledNotificationSchema as never) : 'notifications/cancelled';
    held.server.server.setNotificationHandler(which, ({ params }) => {
      seen.push(params.requestId);
    });
    const { signal, returns } = await startHolding(held, peer, 7);
    peer.write(cancelFrame(7));
    await aborted(signal);
    returns(RESULT);
    await peer.fence();
    expect(seen).toEqual([7]);
    expect(peer.about(7)).toEqual([]);
  });

  test('a tool that is registered or updated later is covered too', async () => {
    const { clock, held, peer } = await setUp({ timeoutMs: 5_000 });
    const later = held.server.registerTool('later', {}, (ctx) => held.hold(ctx) as never);
    peer.write(peer.callTool(7, 'later'));
    const first = await held.handlerStarted(7);
    later.update({ callback: (ctx: unknown) => held.hold(ctx as ServerContext) as never });
    peer.write(peer.callTool(8, 'later'));
    const second = await held.handlerStarted(8);
    peer.write(cancelFrame(7));
    await aborted(first.signal);
    clock.advance(5_000);
    expect((await peer.answer(8)).result.content[0].text).toBe('tool "later" reached its deadline of 5000 ms');
    first.returns(RESULT);
    second.returns(RESULT);
  });
});

describe('a server whose fallback handler does the work', () => {
  test('is covered, whether that was set before or after, and its other methods are its own', async () => {
    const { clock, estop } = virtually({ timeoutMs: 5_000 });
    const server = new Server({ name: 'fallback', version: '1' }, { capabilities: { tools: {} } });
    const starts: string[] = [];
    server.fallbackRequestHandler = async ({ method }) => {
      starts.push(method);
      return { told: method };
    };
    estop.protect(server);
    const peer = await connectByHand(server);
    peer.write(peer.callTool(7, 'any'), cancelFrame(7));
    await peer.fence();
    expect(starts).not.toContain('tools/call');
    expect(peer.about(7)).toEqual([]);
    expect((await peer.request('tools/call', { name: 'any' }, 7)).result).toMatchObject({ told: 'tools/call' });
    expect((await peer.request('tools/list')).result).toMatchObject({ told: 'tools/list' });

    const stuck = latch<never>();
    server.fallbackRequestHandler = () => stuck.promise;
    peer.write(peer.callTool(8, 'any'));
    while (estop.stats().running === 0) await turns();
    clock.advance(5_000);
    expect((await peer.answer(8)).result).toMatchObject({ isError: true });
    stuck.fail(new Error('late'));
    await turns();
    expect(estop.stats()).toMatchObject({ abandoned: 0, inFlight: 0 });
  });
});

describe('a tool with an output schema', () => {
  test.each(['legacy', 'modern'] as const)('the %s SDK client accepts the answer of a deadline', async (era) => {
    const { clock, estop, held } = virtually({ timeoutMs: 5_000 });
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    const serving = await estop.serveStdio(() => held.server, { transport: theirs });
    const mode = era === 'legacy' ? 'legacy' : { pin: '2026-07-28' };
    const client = new Client({ name: 'client', version: '1' }, { versionNegotiation: { mode } });
    await client.connect(ours as never);
    onTestFinished(async () => {
      await client.close();
      await serving.close();
    });
    // So that the client knows the schema, and validates.
    await client.listTools();
    const called = client.callTool({ name: 'with-schema', arguments: {} });
    while (held.starts.length === 0) await turns();
    const { returns } = await held.handlerStarted(held.starts[0] as number);
    clock.advance(5_000);
    expect(await soon(called, 'the client is answered')).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'tool "with-schema" reached its deadline of 5000 ms' }],
    });
    returns(RESULT);
  });
});

describe('protect()', () => {
  test('gives back the same server', () => {
    const { server } = new HeldServer();
    expect(createEstop().protect(server)).toBe(server);
  });

  test.each<[string, (held: HeldServer, estop: Estop) => Promise<MemoryPeer>]>([
    [
      'before anything is registered',
      async (held, estop) => {
        const empty = new McpServer({ name: 'empty', version: '1' });
        estop.protect(empty);
        empty.registerTool('hold', {}, (ctx) => held.hold(ctx) as never);
        return connectByHand(empty);
      },
    ],
    [
      'on the Server inside',
      async (held, estop) => {
        estop.protect(held.server.server);
        return connectByHand(held.server);
      },
    ],
    [
      'after the server was connected',
      async (held, estop) => {
        const peer = await connectByHand(held.server);
        estop.protect(held.server);
        return peer;
      },
    ],
  ])('%s: a cancel finds its call, also right behind it', async (_when, connect) => {
    const { estop, held } = virtually();
    const peer = await connect(held, estop);
    const { signal, returns } = await startHolding(held, peer, 7);
    peer.write(cancelFrame(7));
    await aborted(signal);
    expect(signal.reason).toMatchObject({ kind: 'cancelled', by: 'client' });
    returns(RESULT);
    peer.write(peer.callTool(8, 'hold'), cancelFrame(8));
    await peer.fence();
    expect(held.starts).toEqual([7]);
    expect(peer.about(7)).toEqual([]);
    expect(peer.about(8)).toEqual([]);
    expect(estop.stats().inFlight).toBe(0);
  });

  test('a server that is connected a second time has a scope of its own for each connection', async () => {
    const { estop, held } = virtually();
    estop.protect(held.server);
    const first = await connectByHand(held.server);
    const one = await startHolding(held, first, 7);
    await first.hangUp();
    expect(one.signal.reason).toMatchObject({ kind: 'disconnected' });
    const second = await connectByHand(held.server);
    const two = await startHoldingAgain(held, second);
    one.returns(RESULT);
    await turns();
    second.write(cancelFrame(7));
    await aborted(two.signal);
    expect(two.signal.reason).toMatchObject({ kind: 'cancelled' });
    two.returns(RESULT);
  });

  test('two servers of one engine: a cancel on one connection stops nothing on the other', async () => {
    const { estop, held } = virtually();
    const other = new HeldServer();
    estop.protect(held.server);
    estop.protect(other.server);
    const peer = await connectByHand(held.server);
    const otherPeer = await connectByHand(other.server);
    const here = await startHolding(held, peer, 7);
    const there = await startHolding(other, otherPeer, 7);
    peer.write(cancelFrame(7));
    await aborted(here.signal);
    await otherPeer.fence();
    expect(there.signal.aborted).toBe(false);
    here.returns(RESULT);
    there.returns(RESULT);
    expect((await otherPeer.answer(7)).result).toMatchObject(RESULT);
  });

  test('a second time on one server is an error, also by another engine and on the Server inside', () => {
    const { server } = new HeldServer();
    createEstop().protect(server);
    const again = new TypeError('estop: this server is protected already');
    expect(() => createEstop().protect(server)).toThrow(again);
    expect(() => createEstop().protect(server.server)).toThrow(again);
  });

  test.each<[string, unknown]>([
    ['an empty object', {}],
    ['null', null],
    ['nothing', undefined],
    ['a string', 'server'],
    ['a table that is no table', { _requestHandlers: {}, connect: () => {}, close: () => {} }],
    ['a client of the SDK', new Client({ name: 'client', version: '1' })],
    ['a client-like object', { _requestHandlers: new Map(), connect: async () => {}, callTool: async () => {} }],
  ])('on %s is a TypeError that says what it takes', (_what, given) => {
    expect(() => createEstop().protect(given as never)).toThrow(
      /^estop: protect\(\) was given something that is no McpServer or Server of @modelcontextprotocol\/server 2\.x/,
    );
    expect(() => createEstop().protect(given as never)).toThrow(TypeError);
  });

  test.each([Number.NaN, -1, '5', null])('a timeout of %o is refused where it is given, by name', (bad) => {
    const timeoutMs = bad as number;
    const { server } = new HeldServer();
    expect(() => createEstop().protect(server, { tools: { scrape: { timeoutMs } } })).toThrow(
      /^estop: tool "scrape": timeoutMs must be a number of milliseconds >= 0, got /,
    );
    expect(() => createEstop().protect(server, { timeoutMs })).toThrow(/^estop: protect\(\): timeoutMs must be/);
    expect(() => createEstop({ timeoutMs })).toThrow(/^estop: createEstop\(\): timeoutMs must be/);
    // A refused protect leaves the server as it was.
    expect(createEstop().protect(server)).toBe(server);
  });

  test.each([null, 5_000])('is refused where the options of a tool are %s', (tool) => {
    const server = new McpServer({ name: 'bad', version: '1' });
    expect(() => createEstop().protect(server, { tools: { scrape: tool as never } })).toThrow(
      'estop: tool "scrape": its options must be an object, such as { timeoutMs }',
    );
  });

  test("a tool's timeout counts before its server's, and that before the engine's; 0 is none", async () => {
    const { clock, estop, held } = virtually({ timeoutMs: 1_000, cleanupMs: Infinity });
    for (const name of ['own', 'none']) held.server.registerTool(name, {}, (ctx) => held.hold(ctx) as never);
    estop.protect(held.server, { timeoutMs: 2_000, tools: { own: { timeoutMs: 3_000 }, none: { timeoutMs: 0 } } });
    const other = new HeldServer();
    estop.protect(other.server);
    const peer = await connectByHand(held.server);
    const otherPeer = await connectByHand(other.server);
    peer.write(peer.callTool(1, 'own'), peer.callTool(2, 'none'), peer.callTool(3, 'hold'));
    const signals = {
      own: (await held.handlerStarted(1)).signal,
      none: (await held.handlerStarted(2)).signal,
      server: (await held.handlerStarted(3)).signal,
      engine: (await startHolding(other, otherPeer, 4)).signal,
    };
    const over = (): string[] => Object.entries(signals).flatMap(([name, { aborted }]) => (aborted ? [name] : []));
    for (const expected of [['engine'], ['server', 'engine'], ['own', 'server', 'engine']]) {
      clock.advance(1_000);
      expect(over()).toEqual(expected);
    }
    clock.advance(2 ** 40);
    expect(signals.none.aborted).toBe(false);
    (await held.handlerStarted(2)).returns(RESULT);
  });
});

describe('estop.call()', () => {
  test('is the call of a handler: its time, its stop, its signal', async () => {
    const { clock, estop, held, ...rest } = await byHand({ timeoutMs: 5_000 });
    const { ctx, signal, returns } = await startHolding(held, rest.peer, 7);
    const call = estop.call(ctx);
    clock.advance(1_000);
    expect(call).toMatchObject({ id: 7, method: 'tools/call', name: 'hold', state: 'running', isCancelled: false });
    expect(call.remaining()).toBe(4_000);
    expect(call.signal).toBe(signal);
    clock.advance(4_000);
    expect(call.isCancelled).toBe(true);
    expect(() => call.throwIfStopped()).toThrow(signal.reason);
    returns(RESULT);
  });

  test('a call that the library stops is answered: -32800, with what is known', async () => {
    const { estop, held, peer } = await byHand();
    const { ctx, returns } = await startHolding(held, peer, 7);
    estop.call(ctx).stop(new StopReason('cancelled', 'by us', { by: 'library' }));
    expect((await peer.answer(7)).error).toEqual({
      code: -32_800,
      message: 'Request cancelled',
      data: { kind: 'cancelled', handler: 'running', work: 'none' },
    });
    returns(RESULT);
  });

  test('a call that is stopped for a shutdown is answered', async () => {
    const { estop, held, peer } = await byHand();
    const { ctx, returns } = await startHolding(held, peer, 7);
    estop.call(ctx).stop(new StopReason('shutdown', 'The server is shutting down'));
    expect((await peer.answer(7)).result).toMatchObject({
      isError: true,
      content: [{ text: 'The server is shutting down' }],
      _meta: { [OUTCOME_META]: { kind: 'shutdown' } },
    });
    returns(RESULT);
  });

  test.each([undefined, null, {}, { mcpReq: {} }, 'context'])('of %o is a TypeError', (context) => {
    expect(() => createEstop().call(context)).toThrow(TypeError);
    expect(() => createEstop().call(context)).toThrow(/^estop: call\(\) takes the context of a handler/);
  });
});

async function startHolding(held: HeldServer, peer: MemoryPeer, id: number, nth = 0): Promise<Held> {
  peer.write(peer.callTool(id, 'hold', {}, { progressToken: id }));
  return held.handlerStarted(id, nth);
}

async function startHoldingAgain(held: HeldServer, peer: MemoryPeer): Promise<Held> {
  peer.write(peer.callTool(7, 'hold'));
  return held.handlerStarted(7, 1);
}

/** All the ways in which a handler can write without answering; each has to resolve. */
async function tellEverything({ ctx }: Held, server: McpServer, progressToken: number): Promise<void> {
  const progress = { method: 'notifications/progress' as const, params: { progressToken, progress: 1 } };
  await soon(wordsOf(ctx).notify(progress), 'notify resolves');
  await soon(server.server.notification(progress), 'notification resolves');
  await soon(wordsOf(ctx).log('info', 'a log line'), 'log resolves');
}

function fireAndForget({ ctx }: Held, progressToken: number): void {
  const { notify, log, send } = wordsOf(ctx);
  void notify({ method: 'notifications/progress', params: { progressToken, progress: 1 } });
  void log('info', 'a log line');
  void send({ method: 'ping' });
}

function aborted(signal: AbortSignal): Promise<void> {
  const fired = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  return soon(fired, 'the signal fires');
}
