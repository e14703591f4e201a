/** What a handler asks of a legacy client in the midst of its call, and what becomes of it when the call is stopped. */
import { getEventListeners } from 'node:events';
import { createEstop } from '@estop/server';
import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport, McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { describe, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { RESULT } from '../support/held-server.ts';
import { MAJORS, type Major, MCP_SERVERS, wordsOf } from '../support/majors.ts';
import { cancelFrame, connectByHand, type Frame, type MemoryPeer } from '../support/peer.ts';
import { processEvents } from '../support/process-events.ts';
import { aborted, world } from '../support/protected.ts';
import { latch, soon, turns } from '../support/waiting.ts';

interface Options {
  readonly signal?: AbortSignal;
  readonly timeout?: number;
}

const FORM = {
  mode: 'form',
  message: 'Which color?',
  requestedSchema: { type: 'object', properties: { color: { type: 'string' } } },
} as const;
const SAMPLING = { messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }], maxTokens: 10 } as const;
const ANSWERS = {
  'elicitation/create': { action: 'accept', content: { color: 'red' } },
  'sampling/createMessage': { role: 'assistant', model: 'm', content: { type: 'text', text: 'Hello' } },
  'roots/list': { roots: [{ uri: 'file:///a', name: 'a' }] },
} as const;

interface Way {
  readonly name: string;
  readonly method: keyof typeof ANSWERS;
  ask(ctx: ServerContext, options?: Options): Promise<unknown>;
}

const ANY = z.looseObject({});
const WAYS: readonly Way[] = [
  {
    name: 'elicitInput',
    method: 'elicitation/create',
    ask: (ctx, options) => wordsOf(ctx).elicitInput(FORM, options),
  },
  {
    name: 'requestSampling',
    method: 'sampling/createMessage',
    ask: (ctx, options) => wordsOf(ctx).requestSampling(SAMPLING as never, options),
  },
  {
    name: 'send of an elicitation',
    method: 'elicitation/create',
    ask: (ctx, options) => wordsOf(ctx).send({ method: 'elicitation/create', params: FORM }, options),
  },
  {
    name: 'send of a sampling',
    method: 'sampling/createMessage',
    ask: (ctx, options) =>
      wordsOf(ctx).send({ method: 'sampling/createMessage', params: SAMPLING } as never, options as never),
  },
  {
    name: 'send of a roots list',
    method: 'roots/list',
    ask: (ctx, options) => wordsOf(ctx).send({ method: 'roots/list' }, options),
  },
  {
    name: 'send with a result schema',
    method: 'elicitation/create',
    ask: (ctx, options) => wordsOf(ctx).send({ method: 'elicitation/create', params: FORM }, ANY, options),
  },
];

const OF_MAJORS = MAJORS.flatMap((major) => WAYS.map((way) => ({ ...way, major })));

describe.each(OF_MAJORS)('$name, SDK $major', ({ ask, major, method }) => {
  test('is answered as on a bare server, frame for frame and value for value', async () => {
    const bare = await conversation((server) => server);
    const guarded = await conversation((server) => createEstop({ timeoutMs: 600_000 }).protect(server));
    expect(guarded).toEqual(bare);
    expect(bare.value).toMatchObject(ANSWERS[method]);

    async function conversation(prepare: (server: McpServer) => McpServer) {
      let value: unknown;
      const { peer } = await connected(major, prepare, async (ctx) => {
        value = await ask(ctx);
      });
      peer.write(answerTo(await question(peer, method), ANSWERS[method]));
      await peer.answer(7);
      return { frames: peer.frames, value };
    }
  });

  test("rejects as on a bare server with the client's error", async () => {
    const bare = await failure((server) => server);
    const guarded = await failure((server) => createEstop({ timeoutMs: 600_000 }).protect(server));
    expect(guarded).toEqual(bare);
    expect(bare).toMatchObject({ code: -1, message: expect.stringContaining('No thanks') });

    async function failure(prepare: (server: McpServer) => McpServer): Promise<object> {
      let error: unknown;
      const { peer } = await connected(major, prepare, async (ctx) => {
        error = await ask(ctx).catch((thrown: unknown) => thrown);
      });
      const { id } = await question(peer, method);
      peer.write({ jsonrpc: '2.0', id: id ?? -1, error: { code: -1, message: 'No thanks' } });
      await peer.answer(7);
      return { ...(error as object), message: (error as Error).message, kind: (error as Error).constructor.name };
    }
  });

  test('when its call is stopped: the client is told, and the wait rejects with the very reason', async () => {
    const { peer, start } = await world({ major });
    const { ctx, signal, returns } = await start(7);
    const asking = ask(ctx);
    const asked = await question(peer, method);
    peer.write(cancelFrame(7));
    await aborted(signal);
    await expect(soon(asking, 'the wait ends')).rejects.toBe(signal.reason);
    const cancelled = await cancelOf(peer, asked);
    expect(cancelled.params.requestId).toBe(asked.id);
    returns(RESULT);
    await peer.fence();
    expect(peer.frames.filter(({ method }) => method === 'notifications/cancelled')).toHaveLength(1);
  });

  test('when the library stops its call: the same, and the caller is answered', async () => {
    const { estop, peer, start, answer } = await world({ major, protect: { timeoutMs: 1_000 } });
    const { ctx, signal, returns } = await start(7);
    const asking = ask(ctx);
    const asked = await question(peer, method);
    estop.cancel(estop.call(ctx).scope, 7);
    await expect(soon(asking, 'the wait ends')).rejects.toBe(signal.reason);
    await cancelOf(peer, asked);
    expect((await answer(7)).error).toMatchObject({ code: -32_800 });
    returns(RESULT);
  });

  test('that nobody waits for is no unhandled rejection when its call is stopped', async () => {
    const events = processEvents();
    const { peer, start } = await world({ major });
    const { ctx, signal, returns } = await start(7);
    void ask(ctx);
    const asked = await question(peer, method);
    peer.write(cancelFrame(7));
    await aborted(signal);
    await cancelOf(peer, asked);
    returns(RESULT);
    await peer.fence();
    expect(events.unhandled).toEqual([]);
    expect(events.warnings).toEqual([]);
  });

  test("with the author's signal: that cancels it, as on a bare server, and the call goes on", async () => {
    const bare = await cancelledByAuthor((server) => server);
    const guarded = await cancelledByAuthor((server) => createEstop({ timeoutMs: 600_000 }).protect(server));
    // v1 by itself leaves its listener there.
    expect(guarded).toEqual({ ...bare, left: 0 });

    async function cancelledByAuthor(prepare: (server: McpServer) => McpServer) {
      const own = new AbortController();
      let error: unknown;
      const { peer } = await connected(major, prepare, async (ctx) => {
        error = await ask(ctx, { signal: own.signal }).catch((thrown: unknown) => thrown);
      });
      await question(peer, method);
      own.abort(new Error('changed my mind'));
      await peer.answer(7);
      const left = getEventListeners(own.signal, 'abort').length;
      return { frames: peer.frames, message: (error as Error).message, name: (error as Error).name, left };
    }
  });

  test("with the author's signal that had fired before: rejects as on a bare server, and nothing is written", async () => {
    const bare = await asked((server) => server);
    const guarded = await asked((server) => createEstop({ timeoutMs: 600_000 }).protect(server));
    expect(guarded).toEqual(bare);
    expect(bare.frames.filter(({ method }) => method !== undefined)).toEqual([]);

    async function asked(prepare: (server: McpServer) => McpServer) {
      const signal = AbortSignal.abort(new Error('before'));
      let error: unknown;
      const { peer } = await connected(major, prepare, async (ctx) => {
        error = await ask(ctx, { signal }).catch((thrown: unknown) => thrown);
      });
      await peer.answer(7);
      return {
        frames: peer.frames,
        message: (error as Error).message,
        left: getEventListeners(signal, 'abort').length,
      };
    }
  });

  test.each<[string, (peer: MemoryPeer, asked: Frame) => void]>([
    ['an answer', (peer, asked) => peer.write(answerTo(asked, ANSWERS[method]))],
    ['a stop', (peer) => peer.write(cancelFrame(7))],
    ['an error', (peer, { id }) => peer.write({ jsonrpc: '2.0', id: id ?? -1, error: { code: -1, message: 'No' } })],
  ])("leaves no listener on the author's signal after %s", async (_what, end) => {
    const own = new AbortController();
    const { peer, start } = await world({ major });
    const { ctx } = await start(7);
    const asking = ask(ctx, { signal: own.signal }).catch(() => {});
    const asked = await question(peer, method);
    end(peer, asked);
    await soon(asking, 'the wait ends');
    await turns();
    expect(getEventListeners(own.signal, 'abort')).toEqual([]);
  });

  test("with the author's timeout: rejects after it, and the client is told", async () => {
    const { peer, start } = await world({ major });
    const { ctx, signal } = await start(7);
    const asking = ask(ctx, { timeout: 10 });
    const asked = await question(peer, method);
    await expect(soon(asking, 'the wait ends')).rejects.toThrow('Request timed out');
    await cancelOf(peer, asked);
    expect(signal.aborted).toBe(false);
  });

  test('when the client hangs up: the wait rejects with the reason of the call', async () => {
    const events = processEvents();
    const { peer, start } = await world({ major });
    const { ctx, signal } = await start(7);
    const asking = ask(ctx);
    await question(peer, method);
    await peer.hangUp();
    await expect(soon(asking, 'the wait ends')).rejects.toBe(signal.reason);
    expect(signal.reason).toMatchObject({ kind: 'disconnected' });
    await turns();
    expect(events.unhandled).toEqual([]);
  });

  test('after its call had ended well is asked and answered as on a bare server', async () => {
    const { peer, start, answer } = await world({ major, protect: { timeoutMs: 1_000 } });
    const { ctx, returns } = await start(7);
    returns(RESULT);
    await answer(7);
    const asking = ask(ctx);
    peer.write(answerTo(await question(peer, method), ANSWERS[method]));
    expect(await soon(asking, 'the client answers')).toMatchObject(ANSWERS[method]);
  });
});

describe('a stop', () => {
  test('cancels all that its handler asks at once, and nothing that another call asks', async () => {
    const { peer, start } = await world();
    const stopped = await start(7);
    const other = await start(8);
    const mine = [wordsOf(stopped.ctx).elicitInput(FORM), wordsOf(stopped.ctx).send({ method: 'roots/list' })];
    await question(peer, 'roots/list');
    const theirs = wordsOf(other.ctx).requestSampling(SAMPLING as never);
    const sampling = await question(peer, 'sampling/createMessage');
    peer.write(cancelFrame(7));
    for (const asking of mine) await expect(asking).rejects.toBe((await aborted(stopped.signal)).reason);
    await peer.fence();
    const cancelled = peer.frames.filter(({ method }) => method === 'notifications/cancelled');
    expect(cancelled.map(({ params }) => params.requestId)).toEqual(
      peer.frames
        .filter(({ method }) => method === 'elicitation/create' || method === 'roots/list')
        .map(({ id }) => id),
    );
    peer.write(answerTo(sampling, ANSWERS['sampling/createMessage']));
    expect(await theirs).toMatchObject(ANSWERS['sampling/createMessage']);
  });

  test('an answer that comes after it changes nothing', async () => {
    const events = processEvents();
    const { peer, start } = await world();
    const { ctx, signal } = await start(7);
    const asking = wordsOf(ctx).elicitInput(FORM);
    const asked = await question(peer, 'elicitation/create');
    peer.write(cancelFrame(7));
    await aborted(signal);
    peer.write(answerTo(asked, ANSWERS['elicitation/create']));
    await expect(asking).rejects.toBe(signal.reason);
    await peer.fence();
    expect(events.unhandled).toEqual([]);
  });

  test('in the same turn as the answer: the wait ends once, with one of the two', async () => {
    const { peer, start } = await world();
    const { ctx, signal } = await start(7);
    const asking = wordsOf(ctx).elicitInput(FORM);
    const asked = await question(peer, 'elicitation/create');
    peer.write(answerTo(asked, ANSWERS['elicitation/create']), cancelFrame(7));
    const ended = await soon(
      asking.catch((error: unknown) => error),
      'the wait ends',
    );
    expect([signal.reason, expect.objectContaining({ action: 'accept' })]).toContainEqual(ended);
  });
});

test("a real client's elicitation handler sees the stop of the call that asked", async () => {
  const { clock, estop, held } = await world();
  const server = new McpServer({ name: 'asks', version: '1' });
  let thrown: unknown;
  server.registerTool('asks', {}, async (ctx) => {
    await wordsOf(ctx)
      .elicitInput(FORM)
      .catch((error: unknown) => {
        thrown = error;
      });
    return { content: [] };
  });
  estop.protect(server);
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: 'client', version: '1' }, { capabilities: { elicitation: { form: {} } } });
  const shown = latch<AbortSignal>();
  client.setRequestHandler('elicitation/create', async (_request, ctx) => {
    shown.open(ctx.mcpReq.signal);
    await aborted(ctx.mcpReq.signal);
    return { action: 'cancel' };
  });
  await server.connect(theirs);
  await client.connect(ours as never);
  onTestFinished(() => client.close());
  const stop = new AbortController();
  const called = client.callTool({ name: 'asks', arguments: {} }, { signal: stop.signal });
  called.catch(() => {});
  const signal = await soon(shown.promise, 'the client shows the form');
  stop.abort();
  await aborted(signal);
  await expect(called).rejects.toThrow();
  await turns();
  expect(thrown).toMatchObject({ kind: 'cancelled', by: 'client' });
  expect(estop.stats().inFlight).toBe(0);
  expect(clock.pending).toBe(0);
  expect(held.starts).toEqual([]);
});

/** A server with one tool, called as 7, whose handler does that and returns. */
async function connected(
  major: Major,
  prepare: (server: McpServer) => McpServer,
  handler: (ctx: ServerContext) => Promise<void>,
): Promise<{ peer: MemoryPeer }> {
  const server = new MCP_SERVERS[major]({ name: 'asks', version: '1' });
  server.registerTool('asks', {}, async (ctx) => {
    await handler(ctx);
    return { content: [{ type: 'text', text: 'asked' }] };
  });
  const peer = await connectByHand(prepare(server));
  peer.write(peer.callTool(7, 'asks'));
  return { peer };
}

function question(peer: MemoryPeer, method: string): Promise<Frame> {
  return peer.frameThat(`the question ${method}`, (frame) => frame.method === method);
}

function cancelOf(peer: MemoryPeer, { id }: Frame): Promise<Frame> {
  return peer.frameThat(
    'the cancel of the question',
    ({ method, params }) => method === 'notifications/cancelled' && params.requestId === id,
  );
}

function answerTo({ id }: Frame, result: object): Frame {
  return { jsonrpc: '2.0', id: id ?? -1, result };
}
