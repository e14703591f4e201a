/** The context that a protected handler gets: what the SDK's own has, all of it, and working however it is passed on. */
import { createEstop } from '@estop/server';
import { McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type Held, type HeldServer, RESULT } from '../support/held-server.ts';
import { cancelFrame, ERAS, type Era, type MemoryPeer, serveBare, serveProtected } from '../support/peer.ts';
import { aborted, type World, world } from '../support/protected.ts';

const CALL = Symbol.for('estop.call');

/** What a handler of each kind is given, on a bare server and on a protected one, for the same request. */
async function contexts(era: Era, write: (peer: MemoryPeer) => void): Promise<[ServerContext, ServerContext]> {
  const seen: ServerContext[] = [];
  const factory = (): McpServer => {
    const server = new McpServer({ name: 'looks', version: '1' }, { capabilities: { logging: {} } });
    server.registerTool('looks', { inputSchema: z.looseObject({}) }, async (_args, ctx) => {
      seen.push(ctx);
      return RESULT as never;
    });
    server.registerPrompt('looks', {}, (ctx) => {
      seen.push(ctx);
      return { messages: [] };
    });
    server.registerResource('looks', 'test://looks', {}, (_uri, ctx) => {
      seen.push(ctx);
      return { contents: [] };
    });
    return server;
  };
  const peers = [
    await serveBare(era, factory),
    (await serveProtected(era, createEstop({ timeoutMs: 600_000 }), factory)).peer,
  ];
  for (const peer of peers) {
    write(peer);
    await peer.answer(7);
  }
  return seen as [ServerContext, ServerContext];
}

const REQUESTS: [string, (peer: MemoryPeer) => void][] = [
  ['a tool', (peer) => peer.write(peer.callTool(7, 'looks'))],
  ['a tool, with a progress token', (peer) => peer.write(peer.callTool(7, 'looks', {}, { progressToken: 'p' }))],
  ['a prompt', (peer) => peer.write(peer.frame(7, 'prompts/get', { name: 'looks' }))],
  ['a resource', (peer) => peer.write(peer.frame(7, 'resources/read', { uri: 'test://looks' }))],
];

describe.each(ERAS)('the context of a handler, %s', (era) => {
  test.each(REQUESTS)('of %s has the same properties, and no others', async (_what, write) => {
    const [bare, guarded] = await contexts(era, write);
    expect(Object.keys(guarded).sort()).toEqual(Object.keys(bare).sort());
    expect(Object.keys(guarded.mcpReq).sort()).toEqual(Object.keys(bare.mcpReq).sort());
    expect(Object.getOwnPropertySymbols(guarded.mcpReq)).toEqual([CALL]);
  });

  test.each(REQUESTS)('of %s has the same values, except for the signal and the functions', async (_what, write) => {
    const [bare, guarded] = await contexts(era, write);
    expect(dataOf(guarded)).toEqual(dataOf(bare));
    expect(dataOf(guarded.mcpReq)).toEqual(dataOf(bare.mcpReq));
    expect(guarded.mcpReq.requestState()).toEqual(bare.mcpReq.requestState());
    expect(guarded.sessionId).toBe(bare.sessionId);
    expect(guarded.http).toEqual(bare.http);
  });

  test('of each kind of property has the same kind', async () => {
    const [bare, guarded] = await contexts(era, (peer) => peer.write(peer.callTool(7, 'looks')));
    const kinds = ({ mcpReq }: ServerContext): object =>
      Object.fromEntries(Object.entries(mcpReq).map(([name, value]) => [name, typeof value]));
    expect(kinds(guarded)).toEqual(kinds(bare));
    expect(guarded.mcpReq.signal).toBeInstanceOf(AbortSignal);
  });

  test('is not the one that the SDK made, which is left alone', async () => {
    const { estop, start } = await world({ era });
    const { ctx } = await start(7);
    expect(Object.getOwnPropertyDescriptor(ctx.mcpReq, 'signal')).toMatchObject({ enumerable: true });
    expect(ctx.mcpReq.signal).toBe(estop.call(ctx).signal);
  });
});

describe.each(ERAS)('what an author has put in the context, %s', (era) => {
  type Build = (...given: unknown[]) => ServerContext;

  const adding = (build: Build): Build =>
    function (this: unknown, ...given) {
      const context = build.apply(this, given);
      return { ...context, mcpReq: { ...context.mcpReq, tenant: 'acme' } } as ServerContext;
    };
  const inside = ({ server }: HeldServer): { buildContext: Build } => server.server as never;
  const ofInstance = (held: HeldServer): void => {
    inside(held).buildContext = adding(inside(held).buildContext);
  };
  const ofSubclass = (held: HeldServer): void => {
    const sdks = Object.getPrototypeOf(inside(held));
    const buildContext = adding(sdks.buildContext);
    Object.setPrototypeOf(inside(held), Object.create(sdks, { buildContext: { value: buildContext, writable: true } }));
  };

  test.each<[string, { prepare?: (held: HeldServer) => void; late?: (held: HeldServer) => void }]>([
    ['by a subclass of the server of the SDK', { prepare: ofSubclass }],
    ['by a function of the server, before it is protected', { prepare: ofInstance }],
    ['by a function of the server, after that', { late: ofInstance }],
  ])('%s, comes through, and so does a cancel', async (_how, { prepare, late }) => {
    const { held, peer, start } = await world({ era, ...(prepare && { prepare }) });
    late?.(held);
    const { ctx, signal, returns } = await start(7);
    expect(ctx.mcpReq).toHaveProperty('tenant', 'acme');
    peer.write(cancelFrame(7));
    await aborted(signal);
    returns(RESULT);
  });
});

describe.each(ERAS)('a handler that is called past the dispatch of the SDK, %s', (era) => {
  type Handler = (request: object, ctx: object) => Promise<unknown>;

  /** From within a call's handler, with that handler's own context: the call of it, and its answer. */
  async function past(spoil: (ctx: ServerContext) => object): Promise<[World, Held, Promise<unknown>]> {
    const made = await world({ era, tools: ['other'] });
    const outer = await made.start(7);
    const { _requestHandlers } = made.held.server.server as unknown as { _requestHandlers: Map<string, Handler> };
    const request = { id: 8, method: 'tools/call', params: { name: 'other', arguments: {} } };
    const answer = _requestHandlers.get('tools/call')?.(request, spoil(outer.ctx)) as Promise<unknown>;
    return [made, outer, answer];
  }

  test('has a call of its own, whatever context it is given', async () => {
    const [{ estop, held }, outer, answer] = await past((ctx) => ({ ...ctx, mcpReq: { ...ctx.mcpReq, id: 8 } }));
    const { ctx, returns } = await held.handlerStarted(8);
    expect(estop.call(ctx)).not.toBe(estop.call(outer.ctx));
    expect(estop.stats().running).toBe(2);
    returns(RESULT);
    expect(await answer).toMatchObject(RESULT);
    expect(estop.stats().running).toBe(1);
    outer.returns(RESULT);
  });

  test('is not started when what it is given has been given up already', async () => {
    const [{ estop, held }, outer, answer] = await past((ctx) => ({
      ...ctx,
      mcpReq: { ...ctx.mcpReq, id: 8, signal: AbortSignal.abort() },
    }));
    await expect(answer).rejects.toMatchObject({ code: -32_800 });
    expect(held.starts).toEqual([7]);
    expect(estop.stats().inFlight).toBe(1);
    outer.returns(RESULT);
  });
});

describe('on modern', () => {
  test('the envelope, the inputs and the state of the request come through', async () => {
    const [bare, guarded] = await contexts('modern', (peer) =>
      peer.write(
        peer.frame(7, 'tools/call', {
          name: 'looks',
          arguments: {},
          inputResponses: { color: { action: 'accept', content: { a: 1 } } },
          requestState: 'opaque',
        }),
      ),
    );
    expect(guarded.mcpReq.envelope).toEqual(bare.mcpReq.envelope);
    expect(guarded.mcpReq.envelope).toHaveProperty(['io.modelcontextprotocol/clientInfo']);
    expect(guarded.mcpReq.inputResponses).toEqual({ color: { action: 'accept', content: { a: 1 } } });
    expect(guarded.mcpReq.requestState()).toBe('opaque');
    expect(bare.mcpReq.requestState()).toBe('opaque');
  });

  test('so do the keys of responses that the SDK dropped', async () => {
    const [bare, guarded] = await contexts('modern', (peer) =>
      peer.write(
        peer.frame(7, 'tools/call', { name: 'looks', arguments: {}, inputResponses: { color: 'not a response' } }),
      ),
    );
    expect(dataOf(guarded.mcpReq)).toEqual(dataOf(bare.mcpReq));
  });
});

describe.each(ERAS)('passed on in pieces, %s', (era) => {
  const PIECES: [string, (ctx: ServerContext) => Pick<ServerContext['mcpReq'], 'signal' | 'notify' | 'send'>][] = [
    ['{...ctx}', (ctx) => ({ ...ctx }).mcpReq],
    ['{...ctx.mcpReq}', (ctx) => ({ ...ctx.mcpReq })],
    ['both spread', (ctx) => ({ ...ctx, mcpReq: { ...ctx.mcpReq } }).mcpReq],
    ['Object.assign', (ctx) => Object.assign({}, ctx.mcpReq)],
    ['Object.create', (ctx) => Object.create(ctx.mcpReq) as ServerContext['mcpReq']],
    [
      'destructured',
      (ctx) => {
        const { signal, notify, send } = ctx.mcpReq;
        return { signal, notify, send };
      },
    ],
  ];

  test.each(PIECES)('%s: the signal is the signal of the call', async (_how, take) => {
    const { peer, start } = await world({ era });
    const { ctx, signal, returns } = await start(7);
    const taken = take(ctx);
    expect(taken.signal).toBe(signal);
    peer.write(cancelFrame(7));
    await aborted(taken.signal);
    returns(RESULT);
  });

  test.each(PIECES)('%s: notify writes, and is quiet after a stop', async (_how, take) => {
    const { peer, start } = await world({ era });
    const { ctx, signal, returns } = await start(7);
    const { notify, send } = take(ctx);
    const progress = { method: 'notifications/progress' as const, params: { progressToken: 7, progress: 1 } };
    await notify(progress);
    expect(peer.about(7)).toHaveLength(1);
    peer.write(cancelFrame(7));
    await aborted(signal);
    await notify(progress);
    await expect(send({ method: 'ping' })).rejects.toBe(signal.reason);
    returns(RESULT);
    await peer.fence();
    expect(peer.about(7)).toHaveLength(1);
  });

  test('{...ctx} and {...ctx, mcpReq: {...ctx.mcpReq}} have the same call', async () => {
    const { estop, start } = await world({ era });
    const { ctx } = await start(7);
    expect(estop.call({ ...ctx })).toBe(estop.call(ctx));
    expect(estop.call({ ...ctx, mcpReq: { ...ctx.mcpReq } })).toBe(estop.call(ctx));
  });

  test('a signal that is first looked at after the stop has fired, with the reason', async () => {
    const { estop, held, peer } = await world({ era });
    let late: (() => AbortSignal) | undefined;
    held.server.registerTool('looks-late', {}, (ctx) => {
      late = () => ctx.mcpReq.signal;
      return new Promise<never>((_, reject) => estop.call(ctx).onStop(reject));
    });
    peer.write(peer.callTool(7, 'looks-late'));
    await peer.fence();
    peer.write(cancelFrame(7));
    await peer.fence();
    expect(late?.()).toMatchObject({ aborted: true, reason: { kind: 'cancelled' } });
  });
});

/** All that is no function: functions are other ones, and do the same. */
function dataOf(of: object): object {
  return Object.fromEntries(
    Object.entries(of).filter(([name, value]) => typeof value !== 'function' && name !== 'signal' && name !== 'mcpReq'),
  );
}
