/** What a function in a thread or in a process says to its client, and asks it, with a real client at the other end. */
import { createEstop, type Estop, type EstopOptions, OUTCOME_META } from '@estop/server';
import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport, McpServer } from '@modelcontextprotocol/server';
import { describe, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { versionOf } from '../facade/app.ts';
import { ERAS, serveProtected } from '../support/peer.ts';
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

describe.each(['thread', 'process'] as const)('a function in a %s', (kind) => {
  test.each([{ action: 'accept', content: { color: 'red' } }, { action: 'decline' }, { action: 'cancel' }] as const)(
    'asks the user, who answers with $action',
    async (answer) => {
      const { client, call } = await connected();
      client.setRequestHandler('elicitation/create', ({ params }) => {
        expect(params).toMatchObject(FORM);
        return answer;
      });
      expect(await call('asks', ELICIT)).toEqual(answer);
    },
  );

  test("asks the client's model", async () => {
    const { client, call } = await connected();
    const answer = { role: 'assistant', model: 'm', content: { type: 'text', text: 'Hello' } } as const;
    client.setRequestHandler('sampling/createMessage', () => answer);
    expect(await call('asks', { question: 'requestSampling', params: SAMPLING })).toEqual(answer);
  });

  test("gets the client's error, with its code and message, as a handler does", async () => {
    const { client, call, here } = await connected();
    client.setRequestHandler('elicitation/create', () => {
      throw Object.assign(new Error('No thanks'), { code: -1, data: { why: 'busy' } });
    });
    const error = await call('asks', ELICIT);
    expect(error).toMatchObject({ code: -1, message: expect.stringContaining('No thanks') });
    expect(error).toEqual(await here());
  });

  test('gets the error of the SDK where the client can do no such thing, as a handler does', async () => {
    const { call, here } = await connected({ capabilities: {} });
    const error = await call('asks', ELICIT);
    expect(error).toMatchObject({ message: expect.stringContaining('elicitation') });
    expect(error).toEqual(await here());
  });

  test('asks with a timeout of its own', async () => {
    const { client, call } = await connected();
    client.setRequestHandler('elicitation/create', async (_request, { mcpReq }) => {
      await aborted(mcpReq.signal);
      return { action: 'cancel' };
    });
    expect(await call('asks', { ...ELICIT, options: { timeout: 20 } })).toMatchObject({ message: 'Request timed out' });
  });

  test('has its deadline stand still while the user is asked, and go on afterwards', async () => {
    const { client, call, clock, called } = await connected({ estop: { timeoutMs: 1_000 } });
    client.setRequestHandler('elicitation/create', async () => {
      clock.advance(60_000);
      await turns();
      return { action: 'decline' };
    });
    expect(await call('asks', ELICIT)).toEqual({ action: 'decline' });

    const spinning = called('spins');
    await spinning.progressed();
    clock.advance(1_000);
    expect(await spinning.result).toMatchObject({ isError: true, _meta: { [OUTCOME_META]: { kind: 'deadline' } } });
  });

  test('that asks when its client cancels: the client is told, and hears nothing of it afterwards', async () => {
    const events = processEvents();
    const { client, estop, clock, called, logged } = await connected();
    const shown = latch<AbortSignal>();
    client.setRequestHandler('elicitation/create', async (_request, { mcpReq }) => {
      shown.open(mcpReq.signal);
      await aborted(mcpReq.signal);
      return { action: 'cancel' };
    });
    const stop = new AbortController();
    const asking = called('asksAndWaits', { params: FORM }, stop.signal);
    asking.result.catch(() => {});
    const signal = await soon(shown.promise, 'the client shows the form');
    stop.abort();
    await aborted(signal);
    await expect(asking.result).rejects.toThrow();
    clock.advance(1_000_000);
    while (estop.stats().inFlight > 0) await turns();
    expect(logged.map(({ data }) => data)).toEqual(['before the question']);
    expect(events.unhandled).toEqual([]);
  });

  test('writes to the log of its client, at the level that the client has set', async () => {
    const { client, call, logged } = await connected();
    await client.setLoggingLevel('info');
    await call('logs');
    expect(logged).toEqual([{ level: 'warning', logger: 'disks', data: { disk: 'full' } }]);
    await client.setLoggingLevel('debug');
    await call('logs');
    expect(logged.slice(1)).toMatchObject([{ level: 'debug', data: 'debugging' }, { level: 'warning' }]);
  });

  test('asks a client of the modern era in vain: the error is that of the SDK; its log arrives', async () => {
    const estop = createEstop();
    const { peer } = await serveProtected('modern', estop, () => serverOf(estop));
    const answered = async (name: string): Promise<unknown> => {
      const { result } = await peer.request('tools/call', { name, arguments: ELICIT });
      return JSON.parse(result.content[0].text);
    };
    const error = await answered('asks');
    expect(error).toMatchObject({ message: expect.stringContaining('2026-07-28') });
    expect(error).toEqual(await answered('here'));
    await peer.request('tools/call', { name: 'logs' });
    expect(peer.frames.filter(({ method }) => method === 'notifications/message')).toHaveLength(2);
    while (estop.stats().inFlight > 0) await turns();
  });

  test.each(ERAS)('is called again for each round of questions, in the %s era', async (era) => {
    const estop = createEstop();
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    const serving = await estop.serveStdio(() => serverOf(estop), { transport: theirs });
    const capabilities = { elicitation: { form: {} } };
    const client = new Client({ name: 'client', version: '1' }, { capabilities, ...versionOf(era) });
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { color: 'red' } }));
    await client.connect(ours as never);
    onTestFinished(async () => {
      await client.close();
      await serving.close();
    });
    const { content } = await client.callTool({ name: 'rounds', arguments: {} });
    const answers = JSON.stringify({ color: { action: 'accept', content: { color: 'red' } } });
    expect(content).toEqual([{ type: 'text', text: `after 2 rounds: ${answers}` }]);
    while (estop.stats().inFlight > 0) await turns();
  });

  interface Connected {
    readonly client: Client;
    readonly estop: Estop;
    readonly clock: VirtualClock;
    readonly logged: { readonly data: unknown }[];
    called(
      name: string,
      args?: object,
      signal?: AbortSignal,
    ): { result: Promise<unknown>; progressed(): Promise<void> };
    /** What such a tool says, from its text. */
    call(name: string, args?: object): Promise<unknown>;
    /** What a handler says that elicits by itself. */
    here(): Promise<unknown>;
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
    const server = estop.protect(serverOf(estop));
    const client = new Client({ name: 'client', version: '1' }, { capabilities });
    const logged: { readonly data: unknown }[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => void logged.push(params));
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    await server.connect(theirs);
    await client.connect(ours as never);
    onTestFinished(async () => {
      await client.close();
      clock.advance(1_000_000);
      while (estop.stats().inFlight > 0) await turns();
    });
    const called: Connected['called'] = (name, args = {}, signal) => {
      const progressed = latch();
      const onprogress = (): void => progressed.open();
      const result = client.callTool({ name, arguments: { ...args } }, { onprogress, ...(signal && { signal }) });
      return { result, progressed: () => soon(progressed.promise, `${name} reports progress`) };
    };
    const call: Connected['call'] = async (name, args) => {
      const { content } = (await called(name, args).result) as { content: { text: string }[] };
      const [{ text = '' } = {}] = content;
      return text.startsWith('{') ? JSON.parse(text) : text;
    };
    return { client, estop, clock, logged, called, call, here: () => call('here') };
  }

  function serverOf(estop: Estop): McpServer {
    const server = new McpServer({ name: 'asks', version: '1' }, { capabilities: { logging: {} } });
    const inputSchema = z.looseObject({});
    for (const name of ['asks', 'asksAndWaits', 'rounds', 'logs', 'spins']) {
      server.registerTool(name, { inputSchema }, estop.isolated({ kind, module, export: name }));
    }
    server.registerTool('here', { inputSchema }, async (_args, { mcpReq }) => {
      const shown = ({ name, message, code, data }: Error & { code?: unknown; data?: unknown }) => ({
        ...{ name, message, code, data },
      });
      const answer = await mcpReq.elicitInput(FORM).catch(shown);
      return { content: [{ type: 'text', text: JSON.stringify(answer) }] };
    });
    return server;
  }
});
