/** The façade on a port: SDK clients of both majors on it, who may ask, and how it ends. */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMcpServer, type HttpServeOptions, type HttpServer, type McpApp } from '@estop/server';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startSubject } from '../support/child.ts';
import { ERAS } from '../support/peer.ts';
import { RawClient } from '../support/raw-http.ts';
import { SDK_CLIENTS } from '../support/sdk-clients.ts';
import { latch, soon, turns } from '../support/waiting.ts';
import { appOn, Holding } from './app.ts';

async function served(
  options: Partial<HttpServeOptions> = {},
): Promise<{ app: McpApp; serving: HttpServer; hold: Holding }> {
  const hold = new Holding();
  const { app } = appOn();
  app.tool({ name: 'hold', handler: hold.handler }).tool({ name: 'greet', handler: ({ name }) => `Hello ${name}` });
  const serving = await app.serve({ transport: 'http', port: 0, ...options });
  return { app, serving, hold };
}

describe.each([{}, { sessions: true }, { json: true }, { sessions: true, json: true }])('served with %j', (options) => {
  test.each(SDK_CLIENTS)('%s calls, cancels, and calls again', async (_who, _era, connect) => {
    const { app, serving, hold } = await served(options);
    const client = await connect(serving.url);
    const greeted = { content: [{ type: 'text', text: 'Hello Ada' }] };
    expect(await client.callTool({ name: 'greet', arguments: { name: 'Ada' } })).toMatchObject(greeted);
    const stop = new AbortController();
    const called = client.callTool({ name: 'hold', arguments: {} }, { signal: stop.signal });
    called.catch(() => {});
    const { context } = await hold.started();
    const stopped = latch<unknown>();
    context.onStop(stopped.open);
    stop.abort();
    await expect(called).rejects.toThrow();
    const reason = await soon(stopped.promise, 'the handler hears of it');
    expect((reason as { kind: string }).kind).toMatch(/cancelled|disconnected/);
    hold.letGo();
    expect(await client.callTool({ name: 'greet', arguments: { name: 'Ada' } })).toMatchObject(greeted);
    await turns();
    expect(app.stats().inFlight).toBe(0);
  });
});

test('a client that is to find out the era finds the modern one', async () => {
  const { serving } = await served();
  const client = new Client({ name: 'client', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StreamableHTTPClientTransport(new URL(serving.url)));
  onTestFinished(() => client.close());
  expect(client.getProtocolEra()).toBe('modern');
});

describe('who may ask', () => {
  const ask = async (
    url: string,
    headers: Record<string, string>,
  ): Promise<{ status: number | undefined; body: string }> => {
    const sent = request(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers } });
    sent.end('{}');
    const [response] = await soon(once(sent, 'response'), 'an answer');
    let body = '';
    for await (const chunk of response) body += chunk;
    return { status: response.statusCode, body };
  };

  test.each([
    [{ host: 'evil.example' }, 'Invalid Host: evil.example'],
    [{ host: 'localhost.evil.example:80' }, 'Invalid Host: localhost.evil.example'],
    [{ origin: 'http://evil.example' }, 'Invalid Origin'],
    [{ origin: 'null' }, 'Origin'],
  ])('%j is refused', async (headers, message) => {
    const { serving } = await served();
    const { status, body } = await ask(serving.url, headers);
    expect(status).toBe(403);
    expect(JSON.parse(body).error.message).toContain(message);
  });

  test('names that are allowed are not', async () => {
    const { serving } = await served({ allowedHosts: ['mcp.example'], allowedOrigins: ['app.example'] });
    expect((await ask(serving.url, { host: 'mcp.example', origin: 'https://app.example' })).status).not.toBe(403);
    expect((await ask(serving.url, {})).status).toBe(403);
  });

  test('nothing is at another path, and the path can be another', async () => {
    const { serving } = await served({ path: '/tools' });
    expect(serving.url).toBe(`http://127.0.0.1:${serving.port}/tools`);
    expect((await ask(new URL('/mcp', serving.url).href, {})).status).toBe(404);
    expect((await ask(`${serving.url}?a=b`, {})).status).not.toBe(404);
  });

  test('a body that is too long is refused before it has been read', async () => {
    const { serving } = await served();
    const sent = request(serving.url, { method: 'POST', headers: { 'content-type': 'application/json' } });
    sent.on('error', () => {});
    // It goes on, for all that the server knows.
    sent.write(Buffer.alloc(5 * 1024 * 1024, ' '));
    const [response] = await soon(once(sent, 'response'), 'an answer');
    expect(response.statusCode).toBe(413);
    response.resume();
    await once(response, 'end');
    sent.destroy();
  });
});

describe('the end', () => {
  test.each(ERAS)('close() lets a %s call end, and then nothing listens any more', async (era) => {
    const { serving, hold } = await served();
    const client = await new RawClient(serving.url, era).initialize();
    const exchange = client.call(1, 'hold');
    const held = await hold.started();
    const closing = serving.close();
    held.returns('done');
    expect((await exchange.answer(1)).result).toMatchObject({ content: [{ text: 'done' }] });
    await soon(Promise.all([closing, serving.closed]), 'it is closed');
    expect(await client.call(2, 'greet').over).toBe('broken');
  });

  test.each(ERAS)('stop() answers a %s call, and closes the port', async (era) => {
    const { app, serving, hold } = await served();
    const client = await new RawClient(serving.url, era).initialize();
    const exchange = client.call(1, 'hold');
    await hold.started();
    const stopping = app.stop();
    expect((await exchange.answer(1)).result).toMatchObject({ isError: true });
    hold.letGo();
    await soon(Promise.all([stopping, serving.closed]), 'it is closed');
    await expect(app.serve({ transport: 'http', port: 0 })).rejects.toThrow('app was stopped');
  });

  test('a session whose client only listens ends with it', async () => {
    const { serving } = await served({ sessions: true });
    const client = await new RawClient(serving.url, 'legacy').initialize();
    const listening = client.get();
    await listening.began;
    await soon(serving.destroy(), 'it is closed');
    expect(await listening.over).toBe('ended');
  });
});

describe('a process', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s: what is in flight ends by itself, then the process by it',
    async (name) => {
      const { child, client } = await started();
      const exchange = client.call(1, 'hold');
      await child.said('hold started');
      child.process.kill(name);
      await refuses(client);
      child.process.stdin.write('go on\n');
      expect((await exchange.answer(1)).result).toMatchObject({ content: [{ text: 'done' }] });
      expect(await child.exited).toEqual({ code: null, signal: name });
      expect(child.stderr()).toContain('hold ended by itself');
      expect(child.stderr()).toContain('closed');
    },
  );

  test('what does not end within the drain is stopped and answered', async () => {
    const { child, client } = await started({ DRAIN_MS: '50' });
    const exchange = client.call(1, 'hold');
    await child.said('hold started');
    child.process.kill('SIGTERM');
    expect((await exchange.answer(1)).result).toMatchObject({ content: [{ text: 'The server is shutting down' }] });
    expect(await child.exited).toEqual({ code: null, signal: 'SIGTERM' });
    expect(child.stderr()).toContain('hold stopped: shutdown');
  });

  test('a second signal ends it at once', async () => {
    const { child, client } = await started();
    client.call(1, 'hold');
    await child.said('hold started');
    child.process.kill('SIGTERM');
    await refuses(client);
    child.process.kill('SIGTERM');
    expect(await child.exited).toEqual({ code: null, signal: 'SIGTERM' });
    expect(child.stderr()).not.toContain('closed');
  });

  async function started(env: Record<string, string> = {}) {
    const child = startSubject('facade-http.mjs', env);
    await child.said(' \n');
    const url = /at (\S+) /.exec(child.stderr())?.[1] as string;
    return { child, client: await new RawClient(url, 'legacy').initialize() };
  }

  /** Waits until the signal has come. */
  async function refuses(client: RawClient): Promise<void> {
    for (let id = 100; ; id += 1) {
      const { result } = await client.call(id, 'quick').answer(id);
      if (result.isError === true) return;
    }
  }
});

describe('a place that cannot be had', () => {
  test('a port that is taken is said to be', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    await expect(served({ port })).rejects.toThrow(
      `estop: serve(): port ${port} of 127.0.0.1 is taken: choose another, or 0 for any that is free`,
    );
  });

  test.each([
    [{ port: 1.5 }, 'port must be an integer >= 0'],
    [{ port: '80' }, 'port must be an integer >= 0'],
    [{ port: 70_000 }, 'port 70000 of 127.0.0.1 cannot be had'],
    [{ host: '' }, 'host must be a non-empty string, got ""'],
    [{ path: 'mcp' }, 'path must be a string that begins with "/", got "mcp"'],
    [{ sessions: 1 }, 'sessions must be true or false, got 1'],
  ])('%j is refused', async (options, message) => {
    const app = createMcpServer({ name: 'app' });
    const serving = app.serve({ transport: 'http', port: 0, ...options } as HttpServeOptions);
    await expect(serving).rejects.toThrow(`estop: serve(): ${message}`);
    await app.stop();
  });
});
