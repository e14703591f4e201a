/** The `extra` that a protected handler of SDK v1 gets: what the SDK's own has, and working however it is passed on. */
import { createEstop } from '@estop/server';
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { CallToolRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { RESULT } from '../support/held-server.ts';
import { cancelFrame, connectByHand, type MemoryPeer, type SomeServer } from '../support/peer.ts';
import { aborted, world } from '../support/protected.ts';
import { latch, soon, turns } from '../support/waiting.ts';

const CALL = Symbol.for('estop.call');

interface Extra {
  readonly signal: AbortSignal;
  sendNotification(notification: object): Promise<void>;
  sendRequest(request: object, schema: unknown): Promise<unknown>;
}

const connect = (server: McpServer | Server): Promise<MemoryPeer> => connectByHand(server as unknown as SomeServer);

/** What a handler of each kind is given, on a bare server and on a protected one, for the same request. */
async function extras(write: (peer: MemoryPeer) => void): Promise<[Extra, Extra]> {
  const seen: Extra[] = [];
  const make = (): McpServer => {
    const server = new McpServer({ name: 'looks', version: '1' });
    server.registerTool('looks', { inputSchema: { any: z.string().optional() } }, async (_args, extra) => {
      seen.push(extra);
      return { content: [] };
    });
    server.registerPrompt('looks', {}, (extra: unknown) => {
      seen.push(extra as Extra);
      return { messages: [] };
    });
    server.registerResource('looks', 'test://looks', {}, (_uri, extra) => {
      seen.push(extra);
      return { contents: [] };
    });
    return server;
  };
  for (const peer of [await connect(make()), await connect(createEstop({ timeoutMs: 600_000 }).protect(make()))]) {
    write(peer);
    await peer.answer(7);
  }
  return seen as [Extra, Extra];
}

const REQUESTS: [string, (peer: MemoryPeer) => void][] = [
  ['a tool', (peer) => peer.write(peer.callTool(7, 'looks'))],
  ['a tool, with a progress token', (peer) => peer.write(peer.callTool(7, 'looks', {}, { progressToken: 'p' }))],
  ['a prompt', (peer) => peer.write(peer.frame(7, 'prompts/get', { name: 'looks' }))],
  ['a resource', (peer) => peer.write(peer.frame(7, 'resources/read', { uri: 'test://looks' }))],
];

describe('the extra of a handler', () => {
  test.each(REQUESTS)('of %s has the same properties, and the call beside them', async (_what, write) => {
    const [bare, guarded] = await extras(write);
    expect(Object.keys(guarded).sort()).toEqual(Object.keys(bare).sort());
    expect(Object.getOwnPropertySymbols(guarded)).toEqual([CALL]);
  });

  test.each(REQUESTS)('of %s has the same values, except for the signal and the functions', async (_what, write) => {
    const [bare, guarded] = await extras(write);
    expect(dataOf(guarded)).toEqual(dataOf(bare));
    const kinds = (extra: Extra) => Object.entries(extra).map(([name, value]) => `${name}: ${typeof value}`);
    expect(kinds(guarded).sort()).toEqual(kinds(bare).sort());
  });

  test('has a signal that is made when it is looked at', async () => {
    const [, guarded] = await extras((peer) => peer.write(peer.callTool(7, 'looks')));
    expect(Object.getOwnPropertyDescriptor(guarded, 'signal')).toMatchObject({
      get: expect.any(Function),
      enumerable: true,
    });
    expect(guarded.signal).toBeInstanceOf(AbortSignal);
    expect(guarded.signal).toBe(guarded.signal);
  });
});

describe('passed on in pieces', () => {
  const PIECES: [string, (extra: Extra) => Extra][] = [
    ['{...extra}', (extra) => ({ ...extra })],
    ['Object.assign', (extra) => Object.assign({}, extra)],
    ['Object.create', (extra) => Object.create(extra) as Extra],
    ['destructured', ({ signal, sendNotification, sendRequest }) => ({ signal, sendNotification, sendRequest })],
  ];

  test.each(PIECES)('%s: the signal is that of the call; notices are quiet after a stop', async (_how, take) => {
    const { peer, start } = await world({ major: 'v1' });
    const { ctx, signal, returns } = await start(7);
    const taken = take(ctx as unknown as Extra);
    expect(taken.signal).toBe(signal);
    const progress = { method: 'notifications/progress', params: { progressToken: 7, progress: 1 } };
    await taken.sendNotification(progress);
    expect(peer.about(7)).toHaveLength(1);
    peer.write(cancelFrame(7));
    await aborted(taken.signal);
    await taken.sendNotification(progress);
    await expect(taken.sendRequest({ method: 'ping' }, z.looseObject({}))).rejects.toBe(signal.reason);
    returns(RESULT);
    await peer.fence();
    expect(peer.about(7)).toHaveLength(1);
  });

  test('{...extra} has the same call', async () => {
    const { estop, start } = await world({ major: 'v1' });
    const { ctx } = await start(7);
    expect(estop.call({ ...ctx })).toBe(estop.call(ctx));
  });

  test('a tool that makes a task has it too, though the SDK spreads its extra', async () => {
    const estop = createEstop();
    const taskStore = new InMemoryTaskStore();
    const server = new McpServer(
      { name: 'tasks', version: '1' },
      { capabilities: { tasks: { requests: { tools: { call: {} } } } }, taskStore },
    );
    const names: unknown[] = [];
    server.experimental.tasks.registerToolTask(
      'makes',
      { execution: { taskSupport: 'required' } },
      {
        createTask: async (extra) => {
          names.push(estop.call(extra).name);
          return { task: await extra.taskStore.createTask({ ttl: 1 }) };
        },
        getTask: async ({ taskId, taskStore }) => taskStore.getTask(taskId),
        getTaskResult: async ({ taskId, taskStore }) => taskStore.getTaskResult(taskId) as never,
      },
    );
    const peer = await connect(estop.protect(server));
    const { result } = await peer.request('tools/call', { name: 'makes', arguments: {}, task: { ttl: 1 } });
    expect(result.task.taskId).toBeDefined();
    expect(names).toEqual(['makes']);
    taskStore.cleanup();
  });
});

test('a low-level Server is covered, and so is its fallback handler', async () => {
  const estop = createEstop();
  const server = estop.protect(new Server({ name: 'low', version: '1' }, { capabilities: { tools: {} } }));
  const stuck = latch<never>();
  const stops: unknown[] = [];
  const wait = ({ signal }: Extra): Promise<never> => {
    signal.addEventListener('abort', () => stops.push(signal.reason.kind));
    return stuck.promise;
  };
  server.setRequestHandler(CallToolRequestSchema, (_request, extra) => wait(extra));
  server.fallbackRequestHandler = (_request, extra) => wait(extra);
  const peer = await connect(server);
  peer.write(peer.callTool(0, 'any'), peer.frame('', 'prompts/get', { name: 'any' }));
  while (estop.stats().running < 2) await turns();
  peer.write(cancelFrame(0), cancelFrame(''));
  while (stops.length < 2) await soon(turns(), 'both are stopped');
  expect(stops).toEqual(['cancelled', 'cancelled']);
  stuck.fail(new Error('late'));
  while (estop.stats().inFlight > 0) await turns();
  await peer.request('ping');
  expect(peer.frames.filter(({ id }) => id === 0 || id === '')).toEqual([]);
});

test('what is public takes both majors, in strict TypeScript', () => {
  const estop = createEstop();
  const module = new URL('../subjects/isolated-tools.mjs', import.meta.url);
  const isolated = estop.isolated({ kind: 'thread', module, export: 'logs' });
  const server: McpServer = estop.protect(new McpServer({ name: 'typed', version: '1' }));
  server.tool('a', isolated);
  server.tool('b', { name: z.string() }, isolated);
  server.registerTool('c', { outputSchema: { length: z.number() } }, isolated);
  server.registerTool('d', {}, async (extra) => {
    estop.call(extra).throwIfStopped();
    return (await estop.callTool(extra, 'a')) as never;
  });
  const factory: Parameters<typeof estop.serveStdio>[0] = ({ era }) => new McpServer({ name: era, version: '1' });
  expect(factory({ era: 'legacy' })).toBeInstanceOf(McpServer);
  expect(() => estop.protect(server.server)).toThrow('estop: this server is protected already');
});

/** All that is no function: functions are other ones, and do the same. */
function dataOf(of: object): object {
  return Object.fromEntries(
    Object.entries(of).filter(([name, value]) => typeof value !== 'function' && name !== 'signal'),
  );
}
