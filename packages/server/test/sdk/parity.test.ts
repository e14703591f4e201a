/** What nobody stops is not changed: a protected server writes, frame for frame, what the bare one writes. */
import { createEstop } from '@estop/server';
import { completable as completableV1 } from '@modelcontextprotocol/sdk/server/completable.js';
import { Server as ServerV1 } from '@modelcontextprotocol/sdk/server/index.js';
import { ResourceTemplate as ResourceTemplateV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { CallToolRequestSchema, ListToolsRequestSchema, McpError } from '@modelcontextprotocol/sdk/types.js';
import {
  completable,
  inputRequired,
  type McpServer,
  ProtocolError,
  ResourceTemplate,
  Server,
} from '@modelcontextprotocol/server';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { MAJORS, type Major, MCP_SERVERS, wordsOf } from '../support/majors.ts';
import {
  connectByHand,
  ERAS,
  type Era,
  type Frame,
  type Peer,
  type SomeServer,
  serveBare,
  serveProtected,
} from '../support/peer.ts';

interface Exchange {
  readonly method: string;
  readonly params?: object;
  /** The bare SDK answers nothing, so only what was written otherwise is compared. */
  readonly unanswered?: true;
}

const tool = (name: string, args: object = {}, meta?: object): Exchange => ({
  method: 'tools/call',
  params: { name, arguments: args, ...(meta && { _meta: meta }) },
});

const OF_AN_MCP_SERVER: Readonly<Record<string, Exchange>> = {
  'a tool that returns': tool('returns', { text: 'hello' }),
  'a tool without an input schema': tool('no-input'),
  'a tool that throws an Error': tool('throws', { what: 'an Error' }),
  'a tool that throws a string': tool('throws', { what: 'a string' }),
  'a tool that throws null': tool('throws', { what: 'null' }),
  'a tool that throws a protocol error': tool('throws', { what: 'a protocol error' }),
  'a tool that throws synchronously': tool('throws-at-once'),
  'arguments that do not fit': tool('returns', { text: 7 }),
  'no arguments at all': { method: 'tools/call', params: { name: 'returns' } },
  'an unknown tool': tool('nobody'),
  'a tools/call without a name': { method: 'tools/call', params: {} },
  'structured content': tool('structured', { count: 7 }),
  'structured content that violates the schema': tool('structured', { count: 'seven' }),
  'an output schema, and no structured content': tool('structured', { count: 'none' }),
  'progress and logging': tool('tells', { times: 3 }, { progressToken: 'token' }),
  'progress for nobody': tool('tells', { times: 2 }),
  'a disabled tool': tool('disabled'),
  'a tool that was updated after it was registered': tool('updated'),
  'a prompt': { method: 'prompts/get', params: { name: 'greet', arguments: { name: 'Ada' } } },
  'an unknown prompt': { method: 'prompts/get', params: { name: 'nobody' } },
  'a prompt with bad arguments': { method: 'prompts/get', params: { name: 'greet', arguments: {} } },
  'a prompt that throws': { method: 'prompts/get', params: { name: 'throws' } },
  'a resource': { method: 'resources/read', params: { uri: 'test://one' } },
  'a resource of a template': { method: 'resources/read', params: { uri: 'test://item/7' } },
  'a resource that is not there': { method: 'resources/read', params: { uri: 'test://nobody' } },
  'a resource that throws': { method: 'resources/read', params: { uri: 'test://throws' } },
  'a completion': {
    method: 'completion/complete',
    params: { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'name', value: 'A' } },
  },
  'a completion for nothing': {
    method: 'completion/complete',
    params: { ref: { type: 'ref/prompt', name: 'nobody' }, argument: { name: 'name', value: 'A' } },
  },
  ping: { method: 'ping' },
  'the list of tools': { method: 'tools/list' },
  'the list of prompts': { method: 'prompts/list' },
  'the list of resources': { method: 'resources/list' },
  'the list of templates': { method: 'resources/templates/list' },
  'a logging level': { method: 'logging/setLevel', params: { level: 'debug' } },
  'a discovery': { method: 'server/discover' },
  'an unknown method': { method: 'nobody/knows' },
};

const OF_A_LOW_LEVEL_SERVER: Readonly<Record<string, Exchange>> = {
  'a handler that throws an error with code and data': tool('code and data'),
  'a handler that throws a protocol error': tool('protocol error'),
  'a handler that throws a string': tool('string'),
  'a handler that throws null, which the SDK never answers': { ...tool('null'), unanswered: true },
  'a handler that returns a result': tool('result'),
  'a handler that returns a result of no known shape': tool('shapeless'),
  'a method that it has no handler for': { method: 'prompts/get', params: { name: 'nobody' } },
};

type Connect = (factory: () => SomeServer) => Promise<Peer>;

// With a deadline that never comes: the common case, and the one with the most to get wrong.
const serve =
  (era: Era): Connect =>
  async (factory) =>
    (await serveProtected(era, createEstop({ timeoutMs: 600_000 }), factory)).peer;
const byHand: Connect = (factory) => connectByHand(factory());
const protectedByHand: Connect = (factory) => connectByHand(createEstop().protect(factory()));

const ways: [string, Major, Connect, Connect][] = [
  ['connected by hand', 'v2', byHand, protectedByHand],
  ...ERAS.map((era): (typeof ways)[number] => [
    `served over stdio, ${era}`,
    'v2',
    (factory) => serveBare(era, factory),
    serve(era),
  ]),
  ['SDK v1, connected by hand', 'v1', byHand, protectedByHand],
  ['SDK v1, served over stdio', 'v1', byHand, serve('legacy')],
];

describe.each(ways)('%s', (_way, major, connectBare, connectProtected) => {
  const connectBoth = async (make: (major: Major) => SomeServer): Promise<[Peer, Peer]> => [
    await connectBare(() => make(major)),
    await connectProtected(() => make(major)),
  ];

  test.each(Object.entries(OF_AN_MCP_SERVER))('%s: the same frames in the same order', async (_what, exchange) => {
    const [bare, protectedOne] = await connectBoth(mcpServer);
    expect(await framesOf(protectedOne, exchange)).toEqual(await framesOf(bare, exchange));
  });

  test.each(Object.entries(OF_A_LOW_LEVEL_SERVER))('%s: the same frames', async (_what, exchange) => {
    const [bare, protectedOne] = await connectBoth(lowLevelServer);
    expect(await framesOf(protectedOne, exchange)).toEqual(await framesOf(bare, exchange));
  });

  test('all of it on one connection, one after the other: the same frames in the same order', async () => {
    const [bare, protectedOne] = await connectBoth(mcpServer);
    for (const exchange of Object.values(OF_AN_MCP_SERVER)) {
      await framesOf(bare, exchange);
      await framesOf(protectedOne, exchange);
    }
    expect(protectedOne.frames).toEqual(bare.frames);
    expect(protectedOne.frames.length).toBeGreaterThan(Object.keys(OF_AN_MCP_SERVER).length);
  });
});

describe('a handler that asks the client', () => {
  test.each(MAJORS)('writes the same request, and gets the same answer, SDK %s', async (major) => {
    const conversations = [mcpServer(major), createEstop().protect(mcpServer(major))].map(async (server) => {
      const peer = await connectByHand(server);
      peer.write(peer.callTool(1, 'asks'));
      const { id } = await peer.frameThat('the question', ({ method }) => method === 'elicitation/create');
      peer.write({ jsonrpc: '2.0', id: id ?? -1, result: { action: 'accept', content: { color: 'red' } } });
      await peer.answer(1);
      return peer.frames;
    });
    const [bare, protectedOne] = await Promise.all(conversations);
    expect(protectedOne).toEqual(bare);
    expect(JSON.stringify(bare)).toContain('red');
  });
});

describe('a handler that returns input_required to a legacy client', () => {
  test('writes the same requests, round for round, and the same result', async () => {
    const conversations = [mcpServer('v2'), createEstop({ timeoutMs: 600_000 }).protect(mcpServer('v2'))].map(
      async (server) => {
        const peer = await connectByHand(server);
        peer.write(peer.callTool(1, 'rounds'));
        for (let round = 0; round < 2; round += 1) {
          const { id } = await peer.frameThat(
            'a question',
            ({ id, method }) => method === 'elicitation/create' && id === round,
          );
          peer.write({ jsonrpc: '2.0', id: id ?? -1, result: { action: 'accept', content: { color: 'red' } } });
        }
        await peer.answer(1);
        return peer.frames;
      },
    );
    const [bare, protectedOne] = await Promise.all(conversations);
    expect(protectedOne).toEqual(bare);
    expect(JSON.stringify(bare)).toContain('after 2 rounds');
  });
});

/** What the server writes for this exchange, up to the answer of a list that was asked for after it. */
async function framesOf(peer: Peer, { method, params, unanswered }: Exchange): Promise<Frame[]> {
  const before = peer.frames.length;
  if (unanswered) peer.write(peer.frame('unanswered', method, params));
  else await peer.request(method, params);
  await peer.fence();
  const frames = peer.frames.slice(before);
  expect(frames.length).toBeGreaterThan(unanswered ? 0 : 1);
  return frames;
}

/** What v1 calls otherwise, or takes as it is. */
const NAMES = {
  v2: { completable, ResourceTemplate, errorOf: ProtocolError, args: z.object },
  v1: {
    completable: completableV1 as unknown as typeof completable,
    ResourceTemplate: ResourceTemplateV1 as unknown as typeof ResourceTemplate,
    errorOf: McpError as unknown as typeof ProtocolError,
    args: ((shape: object) => shape) as typeof z.object,
  },
} as const;

function mcpServer(major: Major): McpServer {
  const { completable, ResourceTemplate, errorOf: ProtocolError, args } = NAMES[major];
  const server = new MCP_SERVERS[major]({ name: 'parity', version: '1' }, { capabilities: { logging: {} } });
  const text = (text: string) => ({ content: [{ type: 'text' as const, text }] });
  server.registerTool('returns', { inputSchema: z.object({ text: z.string() }) }, async (args) => text(args.text));
  server.registerTool('no-input', {}, async () => text('no input'));
  server.registerTool('throws', { inputSchema: z.object({ what: z.string() }) }, async ({ what }) => {
    if (what === 'a string') throw 'a string';
    if (what === 'null') throw null;
    if (what === 'a protocol error') throw new ProtocolError(-32_042, 'mine', { extra: true });
    throw new TypeError('an Error');
  });
  server.registerTool('throws-at-once', {}, () => {
    throw new Error('at once');
  });
  server.registerTool(
    'structured',
    {
      inputSchema: z.object({ count: z.union([z.number(), z.string()]) }),
      outputSchema: z.object({ count: z.number() }),
    },
    async ({ count }) =>
      ({ ...text('structured'), ...(count !== 'none' && { structuredContent: { count } }) }) as never,
  );
  server.registerTool('tells', { inputSchema: z.object({ times: z.number() }) }, async ({ times }, ctx) => {
    const { _meta, notify, log } = wordsOf(ctx);
    const progressToken = _meta?.progressToken;
    for (let progress = 1; progress <= times; progress += 1) {
      if (progressToken !== undefined) {
        await notify({
          method: 'notifications/progress',
          params: { progressToken, progress, total: times },
        });
      }
      await log('info', `step ${progress}`, 'teller');
      await server.server.notification({ method: 'notifications/tools/list_changed' });
    }
    return text('told');
  });
  server.registerTool('disabled', {}, async () => text('disabled')).disable();
  server.registerTool('updated', {}, async () => text('before')).update({ callback: async () => text('after') });
  server.registerTool('asks', {}, async (ctx) => {
    const answer = await wordsOf(ctx).elicitInput({
      mode: 'form',
      message: 'Which color?',
      requestedSchema: { type: 'object', properties: { color: { type: 'string' } } },
    });
    return text(JSON.stringify(answer));
  });
  server.registerTool('rounds', {}, async (ctx) => {
    const round = Number(ctx.mcpReq.requestState() ?? 0);
    if (round === 2) return text(`after 2 rounds: ${JSON.stringify(ctx.mcpReq.inputResponses)}`);
    const requestedSchema = { type: 'object', properties: { color: { type: 'string' } } } as const;
    return inputRequired({
      inputRequests: { color: inputRequired.elicit({ message: 'Which color?', requestedSchema }) },
      requestState: String(round + 1),
    });
  });
  server.registerPrompt(
    'greet',
    { argsSchema: args({ name: completable(z.string(), (value) => [`${value}da`, `${value}lan`]) }) },
    ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Hello ${name}` } }] }),
  );
  server.registerPrompt('throws', {}, () => {
    throw new Error('no prompt');
  });
  const contents = (uri: URL) => ({ contents: [{ uri: uri.href, text: 'a resource' }] });
  server.registerResource('one', 'test://one', {}, async (uri) => contents(uri));
  server.registerResource('throws', 'test://throws', {}, async () => {
    throw new Error('no resource');
  });
  const template = new ResourceTemplate('test://item/{id}', { list: undefined });
  server.registerResource('items', template, {}, async (uri) => contents(uri));
  return server;
}

function lowLevelServer(major: Major): SomeServer {
  const { errorOf: ProtocolError } = NAMES[major];
  const call = async ({ params }: { params: { name: string } }) => {
    if (params.name === 'code and data') throw Object.assign(new Error('mine'), { code: -32_042, data: { deep: [1] } });
    if (params.name === 'protocol error') throw new ProtocolError(-32_602, 'bad', { field: 'a' });
    if (params.name === 'string') throw 'a string';
    if (params.name === 'null') throw null;
    if (params.name === 'shapeless') return { anything: true } as never;
    return { content: [], _meta: { mine: true } };
  };
  const about = [{ name: 'low', version: '1' }, { capabilities: { tools: {} } }] as const;
  if (major === 'v1') {
    const server = new ServerV1(...about);
    server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: [] }));
    server.setRequestHandler(CallToolRequestSchema, call);
    return server as unknown as Server;
  }
  const server = new Server(...about);
  server.setRequestHandler('tools/list', async () => ({ tools: [] }));
  server.setRequestHandler('tools/call', call);
  return server;
}
