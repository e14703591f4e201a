/** SDK v1: a function elsewhere reaches its client, though an `extra` can neither log nor ask. A real v1 client is there. */
import { createEstop, type Estop, type EstopOptions, OUTCOME_META } from '@estop/server';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { processEvents } from '../support/process-events.ts';
import { aborted } from '../support/protected.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { latch, soon, turns } from '../support/waiting.ts';

const module = new URL('../subjects/isolated-tools.mjs', import.meta.url);
const FORM = {
  mode: 'form',
  message: 'Which color?',
  requestedSchema: { type: 'object', properties: { color: { type: 'string' } } },
} as const;
const SAMPLING = { messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }], maxTokens: 10 } as const;
const ELICIT = { question: 'elicitInput', params: FORM };

describe.each(['thread', 'process'] as const)('SDK v1, a function in a %s', (kind) => {
  test('gets the validated arguments, and reports progress to the client that asked for it', async () => {
    const { client } = await connected();
    const progress: unknown[] = [];
    const greeted = await client.callTool({ name: 'greet', arguments: { name: 'Ada' } });
    expect(greeted).toMatchObject({ content: [{ text: '{"name":"Ada"}' }], structuredContent: { length: 3 } });
    await client.callTool({ name: 'tells', arguments: {} }, undefined, {
      onprogress: (reported) => progress.push(reported),
    });
    expect(progress).toEqual([
      { progress: 1, total: 2, message: 'half' },
      { progress: 2, total: 2 },
    ]);
  });

  test('asks the user, and the form belongs to its call', async () => {
    const { client, call, written } = await connected();
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      expect(params).toMatchObject(FORM);
      return { action: 'accept', content: { color: 'red' } };
    });
    expect(await call('asks', ELICIT)).toEqual({ action: 'accept', content: { color: 'red' } });
    expect(written.find(({ message }) => message.method === 'elicitation/create')?.options).toMatchObject({
      relatedRequestId: expect.any(Number),
    });
  });

  test("asks the client's model", async () => {
    const { client, call } = await connected();
    const answer = { role: 'assistant', model: 'm', content: { type: 'text', text: 'Hello' } } as const;
    client.setRequestHandler(CreateMessageRequestSchema, () => answer);
    expect(await call('asks', { question: 'requestSampling', params: SAMPLING })).toEqual(answer);
  });

  test("gets the server's own error where the client can do no such thing", async () => {
    const { call } = await connected({ capabilities: {} });
    expect(await call('asks', ELICIT)).toMatchObject({ message: 'Client does not support form elicitation.' });
  });

  test('has its deadline stand still while the user is asked', async () => {
    const { client, call, clock } = await connected({ estop: { timeoutMs: 1_000 } });
    client.setRequestHandler(ElicitRequestSchema, async () => {
      clock.advance(60_000);
      await turns();
      return { action: 'decline' };
    });
    expect(await call('asks', ELICIT)).toEqual({ action: 'decline' });
  });

  test('that spins is answered at its deadline, and ended', async () => {
    const { client, clock, estop } = await connected({ estop: { timeoutMs: 1_000 } });
    const spins = latch();
    const called = client.callTool({ name: 'spins', arguments: {} }, undefined, { onprogress: () => spins.open() });
    await soon(spins.promise, 'it spins');
    clock.advance(1_000);
    expect(await called).toMatchObject({ isError: true, _meta: { [OUTCOME_META]: { kind: 'deadline' } } });
    clock.advance(1_000_000);
    while (estop.stats().inFlight > 0) await turns();
  });

  test('that asks when its client cancels: the client is told, and hears nothing of it afterwards', async () => {
    const events = processEvents();
    const { client, estop, clock, logged } = await connected();
    const shown = latch<AbortSignal>();
    client.setRequestHandler(ElicitRequestSchema, async (_request, { signal }) => {
      shown.open(signal);
      await aborted(signal);
      return { action: 'cancel' };
    });
    const stop = new AbortController();
    const asking = client.callTool({ name: 'asksAndWaits', arguments: { params: FORM } }, undefined, {
      signal: stop.signal,
    });
    asking.catch(() => {});
    const signal = await soon(shown.promise, 'the client shows the form');
    stop.abort();
    await aborted(signal);
    await expect(asking).rejects.toThrow();
    clock.advance(1_000_000);
    while (estop.stats().inFlight > 0) await turns();
    expect(logged.map(({ data }) => data)).toEqual(['before the question']);
    expect(events.unhandled).toEqual([]);
  });

  test('writes to the log of its client, at the level that the client has set, as part of its call', async () => {
    const { client, call, logged, written } = await connected();
    await client.setLoggingLevel('info');
    await call('logs');
    expect(logged).toEqual([{ level: 'warning', logger: 'disks', data: { disk: 'full' } }]);
    await client.setLoggingLevel('debug');
    await call('logs');
    expect(logged.slice(1)).toMatchObject([{ level: 'debug', data: 'debugging' }, { level: 'warning' }]);
    const lines = written.filter(({ message }) => message.method === 'notifications/message');
    expect(lines.map(({ options }) => typeof options?.relatedRequestId)).toEqual(['number', 'number', 'number']);
  });

  interface Written {
    readonly message: { readonly method?: string; readonly id?: unknown };
    readonly options?: { readonly relatedRequestId?: unknown } | undefined;
  }

  interface Connected {
    readonly client: Client;
    readonly estop: Estop;
    readonly clock: VirtualClock;
    readonly logged: { readonly data: unknown }[];
    /** What the server has written. */
    readonly written: Written[];
    /** What such a tool says, from its text. */
    call(name: string, args?: object): Promise<unknown>;
  }

  async function connected({
    capabilities = { elicitation: { form: {} }, sampling: {} },
    estop: options = {},
  }: {
    capabilities?: object;
    estop?: EstopOptions;
  } = {}): Promise<Connected> {
    const clock = new VirtualClock();
    const estop = createEstop({ clock, graceMs: 100, cleanupMs: Infinity, ...options });
    const server = new McpServer({ name: 'asks', version: '1' }, { capabilities: { logging: {} } });
    server.registerTool(
      'greet',
      { inputSchema: { name: z.string() }, outputSchema: { length: z.number() } },
      estop.isolated({ kind, module, export: 'greet' }),
    );
    for (const name of ['asks', 'asksAndWaits', 'logs', 'spins', 'tells']) {
      server.registerTool(name, { inputSchema: z.looseObject({}) }, estop.isolated({ kind, module, export: name }));
    }
    estop.protect(server);
    const client = new Client({ name: 'client', version: '1' }, { capabilities });
    const logged: { readonly data: unknown }[] = [];
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logged.push(params));
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    const written: Written[] = [];
    const send = theirs.send.bind(theirs);
    theirs.send = (message, options) => {
      written.push({ message: message as Written['message'], options });
      return send(message, options);
    };
    await server.connect(theirs);
    await client.connect(ours);
    // The server's first request has the id 0, and a v1 client hears no cancel of that.
    await server.server.ping();
    onTestFinished(async () => {
      await client.close();
      clock.advance(1_000_000);
      while (estop.stats().inFlight > 0) await turns();
    });
    const call: Connected['call'] = async (name, args = {}) => {
      const { content } = (await client.callTool({ name, arguments: { ...args } })) as { content: { text: string }[] };
      const [{ text = '' } = {}] = content;
      return text.startsWith('{') ? JSON.parse(text) : text;
    };
    return { client, estop, clock, logged, written, call };
  }
});
