/**
 * The servers that the README begins with, over HTTP: each runs as it stands there, in plain JavaScript, and a client of
 * an SDK calls, cancels, hangs up, and is there when the server is ended. The page that the tool fetches sees the rest.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, onTestFinished, test } from 'vitest';
import { soon } from '../facade/parts/soon.ts';
import { openWebsite, type Website } from '../facade/parts/website.ts';

/** More than the 5 s for which a call of the legacy era runs on. */
const AFTER_THE_GRACE_MS = 20_000;

test.each([
  ['v2', 'modern', modern],
  ['v2', 'legacy', legacy],
  ['v1-express', 'v1', v1],
  ['facade', 'modern', modern],
  ['facade', 'legacy', legacy],
])('%s, and a client that is %s', async (name, _client, connecting) => {
  const site = await openWebsite();
  onTestFinished(() => site.close());
  const server = await started(name);
  const client = await connecting(server.url);

  expect(await client.call(`${site.url}/quick`)).toMatchObject({ content: [{ text: '<h1>Here it is</h1>' }] });

  const stop = new AbortController();
  const [cancelled, stopped] = await stuck(site, client, stop.signal);
  const answer = client.lastAnswer();
  stop.abort();
  await expect(cancelled).rejects.toThrow();
  await soon(stopped, 'the page sees that the cancelled call is stopped');
  // The request is over, by whoever has to end it, and nothing was said.
  expect(['', 'closed by the client']).toContain(await soon(answer, 'its request ends'));

  const [hungUp, left] = await stuck(site, client);
  await client.close();
  await expect(hungUp).rejects.toThrow();
  await soon(left, 'the page sees that a call without a client is stopped', AFTER_THE_GRACE_MS);

  const next = await connecting(server.url);
  expect(await next.call(`${site.url}/quick`)).toMatchObject({ content: [{ text: '<h1>Here it is</h1>' }] });
  server.process.kill('SIGTERM');
  const byItself = { code: 0, signal: null };
  expect(await soon(server.exited, 'it ends')).toEqual(
    name === 'facade' ? { code: null, signal: 'SIGTERM' } : byItself,
  );
  expect(server.said()).toBe('');
});

test('the page is who knows: one whose request was not given the signal sees no stop, whatever the client is told', async () => {
  const site = await openWebsite();
  onTestFinished(() => site.close());
  const server = await started('facade', (text) => text.replace('fetch(url, { signal })', 'fetch(url)'));
  const client = await legacy(server.url);
  const stop = new AbortController();
  const [cancelled] = await stuck(site, client, stop.signal);
  const answer = client.lastAnswer();
  stop.abort();
  await expect(cancelled).rejects.toThrow();
  expect(await soon(answer, 'its request ends')).toBe('');
  expect(site.seen).toEqual({ requests: 1, hangUps: 0 });
});

interface AnyClient {
  call(url: string, signal?: AbortSignal): Promise<unknown>;
  /** What came back on the last request that it has made, when that has ended. */
  lastAnswer(): Promise<string>;
  close(): Promise<void>;
}

/** A call whose page does not end; and when the page is hung up on. */
async function stuck(
  site: Website,
  client: AnyClient,
  signal?: AbortSignal,
): Promise<[Promise<unknown>, Promise<unknown>]> {
  const [asked, hangUp] = [once(site.events, 'request'), once(site.events, 'hang-up')];
  const called = client.call(`${site.url}/stuck`, signal);
  called.catch(() => {});
  await soon(asked, 'the page is asked for');
  return [called, hangUp];
}

function modern(url: URL): Promise<AnyClient> {
  return v2(url, { pin: '2026-07-28' });
}

function legacy(url: URL): Promise<AnyClient> {
  return v2(url, 'legacy');
}

async function v2(url: URL, mode: 'legacy' | { pin: string }): Promise<AnyClient> {
  const client = new Client({ name: 'client', version: '1.0.0' }, { versionNegotiation: { mode } });
  const wire = watched();
  await client.connect(new StreamableHTTPClientTransport(url, { fetch: wire.fetch }));
  return {
    call: (page, signal) => client.callTool({ name: 'page', arguments: { url: page } }, { ...(signal && { signal }) }),
    lastAnswer: wire.last,
    close: closing(client),
  };
}

async function v1(url: URL): Promise<AnyClient> {
  const client = new ClientV1({ name: 'client', version: '1.0.0' });
  const wire = watched();
  await client.connect(new TransportV1(url, { fetch: wire.fetch }) as never);
  return {
    call: (page, signal) =>
      client.callTool({ name: 'page', arguments: { url: page } }, undefined, { ...(signal && { signal }) }),
    lastAnswer: wire.last,
    close: closing(client),
  };
}

function closing(client: { close(): Promise<void> }): () => Promise<void> {
  const close = (): Promise<void> => client.close();
  onTestFinished(close);
  return close;
}

/** A `fetch` that keeps what came back. */
function watched(): { fetch: typeof fetch; last: () => Promise<string> } {
  let last = Promise.resolve('');
  return {
    fetch(...args) {
      const response = fetch(...args);
      // Before whoever asked has it.
      last = response.then((one) => one.clone().text()).catch(() => 'closed by the client');
      return response;
    },
    last: () => last,
  };
}

interface Server {
  readonly url: URL;
  readonly process: ReturnType<typeof spawn>;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  said(): string;
}

/**
 * @param name of the file, which is run as JavaScript: it has no types in it
 * @param change what is made of it first
 */
async function started(name: string, change = (text: string): string => text): Promise<Server> {
  const port = await freePort();
  const child = spawn(process.execPath, ['--input-type=module', '-', String(port)], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
  });
  let said = '';
  for (const pipe of [child.stdout, child.stderr]) {
    pipe.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  }
  const exited = once(child, 'close').then(([code, signal]) => ({ code, signal }));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  child.stdin.end(change(readFileSync(new URL(`../http/${name}.ts`, import.meta.url), 'utf8')));
  let hasExited = false;
  void exited.then(() => {
    hasExited = true;
  });
  const listening = async (): Promise<void> => {
    while (!(await accepts(port))) {
      if (hasExited) throw new Error(`${name} has exited: ${said}`);
      await delay(20);
    }
  };
  await soon(listening(), `${name} listens`);
  const url = new URL(`http://127.0.0.1:${port}/mcp`);
  return { url, process: child, exited, said: () => said };
}

/** Below those that systems give to whoever asks for any: a port that is free now is not given away meanwhile. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.end(() => resolve(true)));
  });
}
