/** The façade in a process of its own, on real pipes, with SDK clients of both eras. */
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, onTestFinished, test } from 'vitest';
import { StdioPeer, startSubject } from '../support/child.ts';
import { ERAS, type Era } from '../support/peer.ts';
import { soon } from '../support/waiting.ts';
import { versionOf } from './app.ts';

const SUBJECT = fileURLToPath(new URL('../subjects/facade-server.mjs', import.meta.url));

describe.each(ERAS)('a façade over stdio, %s', (era) => {
  test('a call, a cancel and a deadline', async () => {
    const { client, said } = await started(era);
    expect(await client.callTool({ name: 'greet', arguments: { name: 'Ada' } })).toMatchObject({
      content: [{ type: 'text', text: 'Hello Ada' }],
    });
    const stop = new AbortController();
    const called = client.callTool({ name: 'hold', arguments: { as: 'it' } }, { signal: stop.signal });
    await said('it started');
    stop.abort();
    await expect(called).rejects.toThrow();
    await said('it stopped: cancelled');
    expect(await client.callTool({ name: 'deaf' })).toMatchObject({
      isError: true,
      content: [{ text: 'tool "deaf" reached its deadline of 100 ms' }],
    });
  });

  test('the end of stdin stops every call, and the process exits with 0, deaf handlers or not', async () => {
    const peer = new StdioPeer(era, startSubject('facade-server.mjs'));
    await peer.initialize();
    peer.write(peer.callTool(1, 'hold', { as: 'it' }), peer.callTool(2, 'deaf'));
    await peer.child.said('it started');
    await peer.answer(2);
    peer.end();
    expect(await peer.child.exited).toEqual({ code: 0, signal: null });
    expect(peer.child.stderr()).toContain('it stopped: disconnected');
  });

  test('stop() answers what is in flight, ends the connection, and nothing of it keeps the process', async () => {
    const peer = new StdioPeer(era, startSubject('facade-server.mjs'));
    await peer.initialize();
    peer.write(peer.callTool(1, 'hold', { as: 'it' }));
    await peer.child.said('it started');
    peer.write(peer.callTool(2, 'stop'));
    expect((await peer.answer(1)).result).toMatchObject({ content: [{ text: 'The server is shutting down' }] });
    expect(await peer.child.exited).toEqual({ code: 0, signal: null });
    expect(peer.child.stderr()).toContain('stopped for good');
  });
});

async function started(era: Era): Promise<{ client: Client; said(text: string): Promise<void> }> {
  const transport = new StdioClientTransport({ command: process.execPath, args: [SUBJECT], stderr: 'pipe' });
  const client = new Client({ name: 'client', version: '1' }, versionOf(era));
  const stderr = transport.stderr;
  let text = '';
  stderr?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  onTestFinished(() => client.close());
  await client.connect(transport);
  return {
    client,
    async said(words) {
      const wait = async (): Promise<void> => {
        while (!text.includes(words)) await once(stderr as NonNullable<typeof stderr>, 'data');
      };
      await soon(wait(), `the server says "${words}"`);
    },
  };
}
