/** SIGTERM and SIGINT at a served process: who is answered, how it ends, and who else may decide. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { versionOf } from '../facade/app.ts';
import { StdioPeer, startServer, startSubject } from '../support/child.ts';
import { ERAS, type Era } from '../support/peer.ts';
import { gone, killMarked, newMark, sleepers, sleeping } from '../support/survivors.ts';
import { soon } from '../support/waiting.ts';

/** Far above any wait in these tests: a process that exits in time does not do so because the grace is over. */
const LONG = '600000';
const BY_TERM = { code: null, signal: 'SIGTERM' };

const serve = (era: Era, env: Record<string, string> = {}): Promise<StdioPeer> =>
  startServer(era, env, 'work-server.mjs');

afterEach(killMarked);

const PROCESSES: [string, Era, Record<string, string>][] = [
  ...ERAS.map((era): (typeof PROCESSES)[number] => [`SDK v2, ${era}`, era, {}]),
  ['SDK v1', 'legacy', { SDK: 'v1' }],
];

describe.each(PROCESSES)('%s', (_what, era, env) => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s: an SDK client is told that the server shuts down, and its connection ends',
    async (name) => {
      const command = fileURLToPath(new URL('../subjects/work-server.mjs', import.meta.url));
      const transport = new StdioClientTransport({ command: process.execPath, args: [command], env });
      const client = new Client({ name: 'client', version: '1' }, versionOf(era));
      onTestFinished(() => client.close());
      await client.connect(transport);
      const mark = newMark();
      const called = client.callTool({ name: 'hold', arguments: { shape: 'deaf', mark } });
      await sleeping(mark, 2);
      const closed = new Promise<void>((resolve) => {
        client.onclose = resolve;
      });
      process.kill(transport.pid as number, name);
      expect(await called).toMatchObject({ isError: true, content: [{ text: 'The server is shutting down' }] });
      await soon(closed, 'the connection ends');
      await gone(mark);
    },
  );

  test('the answers reach a client that reads them late', async () => {
    const peer = await serve(era, env);
    const bytes = 500_000;
    peer.child.process.stdout.pause();
    peer.write(peer.callTool(1, 'deaf'), peer.callTool(2, 'big', { bytes }));
    await peer.child.said('answered');
    await peer.child.said('deaf');
    peer.child.process.kill('SIGTERM');
    await peer.child.said('heard, and goes on: shutdown');
    peer.child.process.stdout.resume();
    expect((await peer.answer(2)).result.content[0].text).toHaveLength(bytes);
    expect((await peer.answer(1)).result).toMatchObject({ isError: true });
    expect(await peer.child.exited).toEqual(BY_TERM);
  });

  test('a handler that hears its signal and goes on does not keep the process', async () => {
    const peer = await serve(era, env);
    peer.write(peer.callTool(1, 'deaf'));
    await peer.child.said('deaf');
    peer.child.process.kill('SIGTERM');
    expect(await peer.child.exited).toEqual(BY_TERM);
    expect(peer.child.stderr()).toContain('heard, and goes on: shutdown');
  });
});

test('nothing is in flight: it ends at once, without a grace', async () => {
  const peer = await serve('modern', { GRACE_MS: LONG });
  peer.child.process.kill('SIGINT');
  expect(await peer.child.exited).toEqual({ code: null, signal: 'SIGINT' });
});

test('a client that has stopped to read does not keep the process', async () => {
  const peer = await serve('modern');
  peer.child.process.stdout.pause();
  peer.write(peer.callTool(1, 'big', { bytes: 5_000_000 }));
  await peer.child.said('answered');
  const exit = once(peer.child.process, 'exit');
  peer.child.process.kill('SIGTERM');
  expect(await exit).toEqual([null, 'SIGTERM']);
});

test.each([
  ['SIGTERM', 'SIGTERM'],
  ['SIGINT', 'SIGTERM'],
  ['SIGTERM', 'SIGINT'],
] as const)('%s, and then %s: the second ends it at once, and nothing is left', async (first, second) => {
  const peer = await serve('modern', { GRACE_MS: LONG, TERM_MS: LONG });
  const mark = newMark();
  peer.write(peer.callTool(1, 'hold', { shape: 'deaf', mark }), peer.callTool(2, 'deaf'));
  await sleeping(mark, 2);
  await peer.child.said('deaf');
  peer.child.process.kill(first);
  await peer.child.said('heard, and goes on: shutdown');
  peer.child.process.kill(second);
  expect(await peer.child.exited).toEqual({ code: null, signal: second });
  await gone(mark);
});

test('stdin ends while it shuts down: it still ends by the signal', async () => {
  const peer = await serve('modern');
  peer.write(peer.callTool(1, 'deaf'));
  await peer.child.said('deaf');
  peer.child.process.kill('SIGTERM');
  await peer.child.said('heard, and goes on: shutdown');
  peer.end();
  expect(await peer.child.exited).toEqual(BY_TERM);
});

test('a signal comes while the end of stdin is being dealt with: it ends by the signal', async () => {
  const peer = await serve('modern');
  peer.write(peer.callTool(1, 'deaf'));
  await peer.child.said('deaf');
  peer.end();
  await peer.child.said('heard, and goes on: disconnected');
  peer.child.process.kill('SIGTERM');
  expect(await peer.child.exited).toEqual(BY_TERM);
});

test('a program that listens for the signal itself decides alone: its calls go on', async () => {
  const peer = await serve('modern', { LISTENS: 'own' });
  const mark = newMark();
  peer.write(peer.callTool(1, 'hold', { shape: 'plain', mark }));
  await sleeping(mark, 1);
  peer.child.process.kill('SIGTERM');
  await peer.child.said('own listener');
  await peer.request('tools/list');
  expect(sleepers(mark)).toHaveLength(1);
  expect(peer.about(1)).toEqual([]);
  // It has said nothing of this one.
  peer.child.process.kill('SIGINT');
  expect((await peer.answer(1)).result).toMatchObject({ isError: true });
  expect(await peer.child.exited).toEqual({ code: null, signal: 'SIGINT' });
  await gone(mark);
});

test('one that only tidies up, as signal-exit does, is neither passed over nor waited for', async () => {
  const peer = await serve('modern', { LISTENS: 'signal-exit' });
  const mark = newMark();
  peer.write(peer.callTool(1, 'hold', { shape: 'traps', mark }));
  await sleeping(mark, 2);
  peer.child.process.kill('SIGTERM');
  expect((await peer.answer(1)).result).toMatchObject({ isError: true });
  expect(await peer.child.exited).toEqual(BY_TERM);
  expect(peer.child.stderr()).toContain('tidied up');
  await gone(mark);
});

test('close() takes the listeners back', async () => {
  const peer = await serve('modern');
  peer.write(peer.callTool(1, 'close'));
  await peer.child.said('listeners left: 0');
});

test('a façade does the same', async () => {
  const peer = new StdioPeer('modern', startSubject('facade-server.mjs'));
  await peer.initialize();
  peer.write(peer.callTool(1, 'hold', { as: 'it' }));
  await peer.child.said('it started');
  peer.child.process.kill('SIGTERM');
  expect((await peer.answer(1)).result).toMatchObject({ content: [{ text: 'The server is shutting down' }] });
  expect(await peer.child.exited).toEqual(BY_TERM);
  expect(peer.child.stderr()).toContain('it stopped: shutdown');
});

const UNSHARE = ['--pid', '--fork', '--mount-proc', '--kill-child'];
const canUnshare = spawnSync('unshare', [...UNSHARE, 'true'], { stdio: 'ignore' }).status === 0;

test.skipIf(!canUnshare)(
  'the first process of a container, which no signal of its own ends, exits with 143',
  async () => {
    const path = fileURLToPath(new URL('../subjects/work-server.mjs', import.meta.url));
    // Only from outside its namespace is it told by its number; there is one process in there that is it.
    const peer = new StdioPeer(
      'modern',
      startSubject('in-container.mjs', { SUBJECT: path, UNSHARE: UNSHARE.join(' ') }),
    );
    peer.write(peer.callTool(1, 'deaf'));
    await peer.child.said('deaf');
    peer.child.process.kill('SIGTERM');
    expect((await peer.answer(1)).result).toMatchObject({ isError: true });
    expect(await peer.child.exited).toEqual({ code: 143, signal: null });
  },
);
