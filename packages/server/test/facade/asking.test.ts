/** What a façade's handler says to its client and asks it, beside progress; and what it has a thread do. */
import type { ToolContext } from '@estop/server';
import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { expect, onTestFinished, test } from 'vitest';
import { aborted } from '../support/protected.ts';
import { latch, soon, turns } from '../support/waiting.ts';
import { appOn, Holding } from './app.ts';

const FORM = { mode: 'form', message: 'Which?', requestedSchema: { type: 'object', properties: {} } };

test("writes to its client's log, until it has been stopped", async () => {
  const { app } = appOn();
  const { client, logged } = await clientOn(app, 'logs', (_args, { log }) => log('warning', { disk: 'full' }, 'disks'));
  await client.callTool({ name: 'logs' });
  expect(logged).toEqual([{ level: 'warning', logger: 'disks', data: { disk: 'full' } }]);

  const holding = new Holding();
  app.tool({ name: 'held', handler: holding.handler });
  const stop = new AbortController();
  const called = client.callTool({ name: 'held' }, { signal: stop.signal });
  const { context, returns } = await holding.started();
  stop.abort();
  await expect(called).rejects.toThrow();
  await aborted(context.signal);
  context.log('info', 'after the stop');
  returns();
  await turns();
  expect(logged).toHaveLength(1);
});

test('asks the user, while its deadline stands still', async () => {
  const { app, clock } = appOn({ toolTimeoutMs: 1_000 });
  const { client } = await clientOn(app, 'asks', (_args, { elicitInput }) => elicitInput(FORM));
  client.setRequestHandler('elicitation/create', () => {
    clock.advance(60_000);
    return { action: 'decline' };
  });
  expect(await client.callTool({ name: 'asks' })).toMatchObject({ content: [{ text: '{"action":"decline"}' }] });
});

test('that is stopped while it asks gets the reason, and the client is told', async () => {
  const { app } = appOn();
  const ended = latch<unknown>();
  const { client } = await clientOn(app, 'asks', async (_args, { elicitInput }) => {
    await elicitInput(FORM).catch(ended.open);
  });
  const shown = latch<AbortSignal>();
  client.setRequestHandler('elicitation/create', async (_request, { mcpReq }) => {
    shown.open(mcpReq.signal);
    await aborted(mcpReq.signal);
    return { action: 'cancel' };
  });
  const stop = new AbortController();
  const called = client.callTool({ name: 'asks' }, { signal: stop.signal });
  called.catch(() => {});
  const signal = await soon(shown.promise, 'the client shows the form');
  stop.abort();
  await aborted(signal);
  expect(await soon(ended.promise, 'the handler is told')).toMatchObject({ kind: 'cancelled', by: 'client' });
  await expect(called).rejects.toThrow();
});

test('called in process has nobody to ask, and no log: the one rejects, the other is quiet', async () => {
  const { app } = appOn();
  app.tool({
    name: 'asks',
    handler: (_args, { log, elicitInput, requestSampling }) => {
      log('info', 'to nobody');
      void elicitInput(FORM);
      return requestSampling({});
    },
  });
  await expect(app.callTool('asks')).rejects.toThrow(
    'estop: requestSampling(): a call in process has no client to ask',
  );
});

test('has a part of its work done in a thread, taken out of its context', async () => {
  const { app } = appOn();
  const module = new URL('../subjects/isolated-functions.mjs', import.meta.url);
  app.tool({ name: 'adds', handler: (args, { thread }) => thread(module, args, { export: 'add' }) });
  expect(await app.callTool('adds', { a: 1, b: 2 })).toBe(3);
  while (app.stats().inFlight > 0) await turns();
});

/** A client of the legacy era that can be asked, of an app with that tool. */
async function clientOn(
  app: ReturnType<typeof appOn>['app'],
  name: string,
  handler: (args: object, context: ToolContext) => unknown,
): Promise<{ client: Client; logged: unknown[] }> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const serving = await app.tool({ name, handler }).serve({ transport: theirs });
  const client = new Client({ name: 'client', version: '1' }, { capabilities: { elicitation: { form: {} } } });
  const logged: unknown[] = [];
  client.setNotificationHandler('notifications/message', ({ params }) => void logged.push(params));
  await client.connect(ours as never);
  onTestFinished(async () => {
    await client.close();
    await serving.close();
  });
  return { client, logged };
}
