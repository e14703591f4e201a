/** While its user is being asked, a call's deadline stands still; while a program is asked, it runs on. */
import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport, inputRequired, McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { describe, expect, onTestFinished, test } from 'vitest';
import { RESULT } from '../support/held-server.ts';
import { MAJORS, wordsOf } from '../support/majors.ts';
import { cancelFrame, type Frame, type MemoryPeer } from '../support/peer.ts';
import { aborted, type World, world } from '../support/protected.ts';
import { latch, soon, turns } from '../support/waiting.ts';

const FORM = { mode: 'form', message: 'Which?', requestedSchema: { type: 'object', properties: {} } } as const;
const SAMPLING = { messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }], maxTokens: 10 } as const;
const ANSWERS: Record<string, object> = {
  'elicitation/create': { action: 'accept', content: {} },
  'sampling/createMessage': { role: 'assistant', model: 'm', content: { type: 'text', text: 'Hello' } },
  'roots/list': { roots: [] },
};
interface Options {
  readonly signal?: AbortSignal;
  readonly timeout?: number;
}
type Ask = (ctx: ServerContext, world: World, options?: Options) => Promise<unknown>;

const ASKING: [string, string, Ask][] = [
  ['elicitInput', 'elicitation/create', (ctx, _world, options) => wordsOf(ctx).elicitInput(FORM, options)],
  [
    'requestSampling',
    'sampling/createMessage',
    (ctx, _world, options) => wordsOf(ctx).requestSampling(SAMPLING as never, options),
  ],
  [
    'send of an elicitation',
    'elicitation/create',
    (ctx, _world, options) => wordsOf(ctx).send({ method: 'elicitation/create', params: FORM }, options),
  ],
  [
    'send of a sampling',
    'sampling/createMessage',
    (ctx, _world, options) =>
      wordsOf(ctx).send({ method: 'sampling/createMessage', params: SAMPLING } as never, options as never),
  ],
  [
    'the server, with the id of the call',
    'elicitation/create',
    (ctx, { held }, options) =>
      held.server.server.elicitInput(FORM, { ...options, relatedRequestId: wordsOf(ctx).id } as never),
  ],
];

const TIMED = { protect: { timeoutMs: 1_000 } };

const OF_MAJORS = MAJORS.flatMap((major) =>
  ASKING.map(([name, ...asking]) => [`${name}, SDK ${major}`, major, ...asking] as const),
);

describe.each(OF_MAJORS)('while the user is asked through %s', (_name, major, method, ask) => {
  test('the deadline stands still, and goes on after the answer with what was left', async () => {
    const made = await world({ ...TIMED, major });
    const { clock, estop, peer, start } = made;
    const { ctx, signal } = await start(7);
    const call = estop.call(ctx);
    clock.advance(400);
    const asking = ask(ctx, made);
    const asked = await question(peer, method);
    clock.advance(3_600_000);
    expect(signal.aborted).toBe(false);
    expect(call.remaining()).toBe(600);
    peer.write(answerTo(asked));
    await soon(asking, 'the user answers');
    expect(call.remaining()).toBe(600);
    clock.advance(599);
    expect(signal.aborted).toBe(false);
    clock.advance(1);
    expect(signal.reason).toMatchObject({ kind: 'deadline', timeoutMs: 1_000 });
  });

  test.each<[string, (peer: MemoryPeer, asked: Frame, own: AbortController) => void]>([
    ["the client's error", (peer, { id }) => peer.write(errorFor(id))],
    ["the author's own cancel", (_peer, _asked, own) => own.abort()],
    ['an answer that does not fit', (peer, { id }) => peer.write({ jsonrpc: '2.0', id: id ?? -1, result: { no: 1 } })],
  ])('it goes on after %s', async (_what, end) => {
    const made = await world({ ...TIMED, major });
    const { clock, estop, peer, start } = made;
    const { ctx, signal } = await start(7);
    const own = new AbortController();
    const asking = ask(ctx, made, { signal: own.signal }).catch(() => {});
    end(peer, await question(peer, method), own);
    await soon(asking, 'the wait ends');
    expect(estop.call(ctx).remaining()).toBe(1_000);
    clock.advance(1_000);
    expect(signal.reason).toMatchObject({ kind: 'deadline' });
  });

  test('it goes on after the timeout of the question', async () => {
    const made = await world({ ...TIMED, major });
    const { clock, peer, start } = made;
    const { ctx, signal } = await start(7);
    const asking = ask(ctx, made, { timeout: 10 });
    await question(peer, method);
    await expect(soon(asking, 'the wait ends')).rejects.toThrow('Request timed out');
    clock.advance(1_000);
    expect(signal.reason).toMatchObject({ kind: 'deadline' });
  });

  test('it goes on when the question could not be written', async () => {
    const made = await world({ ...TIMED, major });
    const { clock, peer, start } = made;
    const { ctx, signal } = await start(7);
    peer.failAt(({ method: written }) => written === method, new Error('the pipe is full'));
    await expect(ask(ctx, made)).rejects.toThrow('the pipe is full');
    clock.advance(1_000);
    expect(signal.reason).toMatchObject({ kind: 'deadline' });
  });

  test('a cancel still stops the call', async () => {
    const made = await world({ ...TIMED, major });
    const { peer, start, clock } = made;
    const { ctx, signal, returns } = await start(7);
    void ask(ctx, made).catch(() => {});
    await question(peer, method);
    peer.write(cancelFrame(7));
    expect((await aborted(signal)).reason).toMatchObject({ kind: 'cancelled' });
    returns(RESULT);
    await peer.fence();
    expect(clock.pending).toBe(0);
  });

  test('the deadline of another call runs on', async () => {
    const made = await world({ ...TIMED, major });
    const { clock, peer, start } = made;
    const { ctx, signal } = await start(7);
    const other = await start(8);
    void ask(ctx, made).catch(() => {});
    await question(peer, method);
    clock.advance(1_000);
    expect(other.signal.reason).toMatchObject({ kind: 'deadline' });
    expect(signal.aborted).toBe(false);
  });

  test('a client that answers with the id as a text is understood, as the SDK does', async () => {
    const made = await world({ ...TIMED, major });
    const { clock, peer, start } = made;
    const { ctx, signal } = await start(7);
    const asking = ask(ctx, made);
    const { id } = await question(peer, method);
    peer.write({ jsonrpc: '2.0', id: String(id), result: ANSWERS[method] });
    await soon(asking, 'the user answers');
    clock.advance(1_000);
    expect(signal.reason).toMatchObject({ kind: 'deadline' });
  });

  test('the deadline of a call stands still whose namesake was answered and runs on', async () => {
    const made = await world({ ...TIMED, major });
    const { clock, held, peer, start, answer } = made;
    await start(7);
    clock.advance(1_000);
    await answer(7);
    peer.write(peer.callTool(7, 'hold'));
    const { ctx, signal } = await held.handlerStarted(7, 1);
    void ask(ctx, made).catch(() => {});
    await question(peer, method);
    clock.advance(5_000);
    expect(signal.aborted).toBe(false);
  });
});

describe.each(MAJORS)('the deadline, SDK %s', (major) => {
  test('stands still until the last of several questions is answered', async () => {
    const { clock, estop, peer, start } = await world({ ...TIMED, major });
    const { ctx } = await start(7);
    const first = wordsOf(ctx).elicitInput(FORM);
    const second = wordsOf(ctx).send({ method: 'sampling/createMessage', params: SAMPLING } as never);
    const elicitation = await question(peer, 'elicitation/create');
    const sampling = await question(peer, 'sampling/createMessage');
    clock.advance(5_000);
    peer.write(answerTo(elicitation));
    await first;
    clock.advance(5_000);
    expect(estop.call(ctx).remaining()).toBe(1_000);
    peer.write(answerTo(sampling));
    await second;
    clock.advance(400);
    expect(estop.call(ctx).remaining()).toBe(600);
  });

  test.each<[string, Ask]>([
    ['send of a roots list', (ctx) => wordsOf(ctx).send({ method: 'roots/list' })],
    ['send of a ping', (ctx) => wordsOf(ctx).send({ method: 'ping' })],
  ])('runs on during %s, which no user sees', async (_name, ask) => {
    const made = await world({ ...TIMED, major });
    const { clock, peer, start } = made;
    const { ctx, signal } = await start(7);
    const asking = ask(ctx, made);
    await peer.frameThat('the question', ({ id, method }) => id !== undefined && method !== undefined);
    clock.advance(1_000);
    expect(signal.reason).toMatchObject({ kind: 'deadline' });
    await expect(asking).rejects.toBe(signal.reason);
  });

  test("runs on while the server's own question is open that belongs to no call", async () => {
    const { clock, held, peer, start } = await world({ ...TIMED, major });
    const { signal } = await start(7);
    void held.server.server.elicitInput(FORM).catch(() => {});
    await question(peer, 'elicitation/create');
    clock.advance(1_000);
    expect(signal.reason).toMatchObject({ kind: 'deadline' });
  });
});

describe("the SDK's legacy shim, for a handler that returns input_required", () => {
  const needs = (inputRequests: object) => inputRequired({ inputRequests } as never);
  const question_ = (peer: MemoryPeer) => question(peer, 'elicitation/create');

  test('the deadline stands still in each round, and what was left holds for all of them', async () => {
    const { clock, estop, held, peer, start, answer } = await world(TIMED);
    const { ctx, returns } = await start(7);
    const call = estop.call(ctx);
    clock.advance(400);
    returns(needs({ color: inputRequired.elicit(FORM) }));
    const first = await question_(peer);
    clock.advance(3_600_000);
    expect(call.state).toBe('running');
    expect(call.remaining()).toBe(600);
    peer.write(answerTo(first));
    const second = await held.handlerStarted(7, 1);
    expect(estop.call(second.ctx)).toBe(call);
    clock.advance(599);
    expect(call.state).toBe('running');
    second.returns(RESULT);
    expect((await answer(7)).result).toMatchObject(RESULT);
    expect(clock.pending).toBe(0);
  });

  test('it goes on while the client is asked for its roots', async () => {
    const { clock, estop, peer, start } = await world(TIMED);
    const { ctx, returns } = await start(7);
    returns(needs({ roots: inputRequired.listRoots() }));
    await question(peer, 'roots/list');
    clock.advance(1_000);
    expect(estop.call(ctx).reason).toMatchObject({ kind: 'deadline' });
  });

  test('a second handler that runs too long meets the deadline', async () => {
    const { clock, held, peer, start, answer } = await world(TIMED);
    const { returns } = await start(7);
    returns(needs({ color: inputRequired.elicit(FORM) }));
    peer.write(answerTo(await question_(peer)));
    const { signal } = await held.handlerStarted(7, 1);
    clock.advance(1_000);
    expect(signal.reason).toMatchObject({ kind: 'deadline' });
    expect((await answer(7)).result).toMatchObject({ isError: true });
  });

  test('a stop cancels the question of the round, and the next handler is never started', async () => {
    const { estop, held, peer, start } = await world(TIMED);
    const { returns } = await start(7);
    returns(needs({ color: inputRequired.elicit(FORM) }));
    const asked = await question_(peer);
    peer.write(cancelFrame(7));
    const cancelled = await peer.frameThat('the cancel', ({ method }) => method === 'notifications/cancelled');
    expect(cancelled.params.requestId).toBe(asked.id);
    peer.write(answerTo(asked));
    await peer.fence();
    expect(held.starts).toEqual([7]);
    expect(peer.about(7)).toEqual([]);
    expect(estop.stats().inFlight).toBe(0);
  });
});

describe('on modern each round is a call of its own', () => {
  test('with a deadline of its own, and its place is free between rounds', async () => {
    const made = await world({
      era: 'modern',
      estop: { maxConcurrency: 1, timeoutMs: 1_000 },
      protect: { tools: { hold: { sequential: true } } },
    });
    const { clock, estop, held, peer } = made;
    const meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } };
    peer.write(peer.callTool(7, 'hold', {}, meta));
    const first = await held.handlerStarted(7);
    clock.advance(900);
    first.returns(inputRequired({ inputRequests: { color: inputRequired.elicit(FORM) } } as never));
    expect((await peer.answer(7)).result).toMatchObject({ resultType: 'input_required' });
    expect(estop.stats()).toMatchObject({ running: 0, inFlight: 0 });
    clock.advance(3_600_000);
    peer.write(peer.callTool(8, 'hold'));
    (await held.handlerStarted(8)).returns(RESULT);
    await peer.answer(8);
    peer.write(
      peer.frame(9, 'tools/call', {
        name: 'hold',
        arguments: {},
        inputResponses: { color: { action: 'accept', content: {} } },
        _meta: meta,
      }),
    );
    const second = await held.handlerStarted(9);
    expect(estop.call(second.ctx)).not.toBe(estop.call(first.ctx));
    expect(estop.call(second.ctx).remaining()).toBe(1_000);
    expect(second.ctx.mcpReq.inputResponses).toEqual({ color: { action: 'accept', content: {} } });
  });

  test('a real client that answers by itself gets the result of the last round', async () => {
    const { estop, clock } = await world({ estop: { maxConcurrency: 1, timeoutMs: 1_000 } });
    const server = new McpServer({ name: 'rounds', version: '1' });
    const between: unknown[] = [];
    server.registerTool('asks', {}, async (ctx) => {
      if (ctx.mcpReq.inputResponses !== undefined) return { content: [{ type: 'text', text: 'done' }] };
      clock.advance(900);
      return inputRequired({ inputRequests: { color: inputRequired.elicit(FORM) } } as never) as never;
    });
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    const serving = await estop.serveStdio(() => server, { transport: theirs });
    const client = new Client(
      { name: 'client', version: '1' },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    const asked = latch();
    client.setRequestHandler('elicitation/create', async () => {
      between.push(estop.stats().inFlight);
      clock.advance(5_000);
      asked.open();
      return { action: 'accept', content: {} };
    });
    await client.connect(ours as never);
    onTestFinished(async () => {
      await client.close();
      await serving.close();
    });
    const result = await soon(client.callTool({ name: 'asks', arguments: {} }), 'the client has its result');
    expect(result).toMatchObject({ content: [{ type: 'text', text: 'done' }] });
    expect(between).toEqual([0]);
    await turns();
    expect(clock.pending).toBe(0);
  });
});

function question(peer: MemoryPeer, method: string): Promise<Frame> {
  return peer.frameThat(`the question ${method}`, (frame) => frame.method === method);
}

function answerTo({ id, method }: Frame): Frame {
  return { jsonrpc: '2.0', id: id ?? -1, result: ANSWERS[method ?? ''] };
}

function errorFor(id: Frame['id']): Frame {
  return { jsonrpc: '2.0', id: id ?? -1, error: { code: -1, message: 'No thanks' } };
}
