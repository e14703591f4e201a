/** SDK v1 at both ends, over a real pipe: a client that cancels, waits and hangs up, and what is left then. */
import { fileURLToPath } from 'node:url';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { gone, killMarked, newMark, sleeping } from '../support/survivors.ts';
import { soon } from '../support/waiting.ts';

const SERVER = {
  command: process.execPath,
  args: [fileURLToPath(new URL('../subjects/work-server.mjs', import.meta.url))],
  env: { ...getDefaultEnvironment(), SDK: 'v1' },
};

afterEach(killMarked);

async function connected(): Promise<{ client: Client; transport: StdioClientTransport }> {
  const transport = new StdioClientTransport(SERVER);
  const client = new Client({ name: 'client', version: '1' });
  onTestFinished(() => client.close());
  await client.connect(transport);
  return { client, transport };
}

const hold = (mark: string) => ({ name: 'hold', arguments: { shape: 'traps', mark } });

test('an abort ends the command of its call, and the server lives on', async () => {
  const { client } = await connected();
  const mark = newMark();
  const stop = new AbortController();
  const called = client.callTool(hold(mark), undefined, { signal: stop.signal });
  called.catch(() => {});
  await sleeping(mark, 2);
  stop.abort();
  await expect(called).rejects.toThrow();
  await gone(mark);
  await client.ping();
});

test("the server's deadline is answered, and accepted by the client", async () => {
  const { client } = await connected();
  const mark = newMark();
  const { isError, content } = await client.callTool({ name: 'brief', arguments: { shape: 'plain', mark } });
  expect({ isError, content }).toEqual({
    isError: true,
    content: [{ type: 'text', text: 'tool "brief" reached its deadline of 100 ms' }],
  });
  await gone(mark);
});

test('a client that closes leaves neither the server nor a command', async () => {
  const { client, transport } = await connected();
  const mark = newMark();
  const { pid } = transport;
  client.callTool(hold(mark)).catch(() => {});
  await sleeping(mark, 2);
  await soon(client.close(), 'the client closes');
  await gone(mark);
  expect(() => process.kill(pid as number, 0)).toThrow('ESRCH');
});

test('a v2 client that tries the modern era first falls back, and is served', async () => {
  const client = new ClientV2({ name: 'client', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  onTestFinished(() => client.close());
  await client.connect(new StdioV2(SERVER));
  expect(client.getProtocolEra()).toBe('legacy');
  const mark = newMark();
  expect(await client.callTool({ name: 'brief', arguments: { shape: 'plain', mark } })).toMatchObject({
    isError: true,
  });
});
