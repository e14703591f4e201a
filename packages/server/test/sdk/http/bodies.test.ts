/** Bodies that are read before the SDK has them: it answers each as it would by itself. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { createEstop } from '@estop/server';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { McpServer as McpServerV2 } from '@modelcontextprotocol/server';
import { describe, expect, test } from 'vitest';
import { listen } from '../../support/http-setups.ts';

interface Transport {
  handleRequest(request: unknown, response: unknown): Promise<unknown>;
}

const MAJORS: readonly [string, (options: object) => [McpServerV1 | McpServerV2, Transport]][] = [
  [
    'v1',
    (options) => [
      new McpServerV1({ name: 'b', version: '1' }),
      new StreamableHTTPServerTransport(options as never) as Transport,
    ],
  ],
  [
    'v2',
    (options) => [
      new McpServerV2({ name: 'b', version: '1' }),
      new NodeStreamableHTTPServerTransport(options) as Transport,
    ],
  ],
];

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'b', version: '1' } },
};
const long = (bytes: number): string => JSON.stringify({ ...INITIALIZE, padding: 'x'.repeat(bytes) });

const BODIES: readonly [string, string, object?][] = [
  ['a request', JSON.stringify(INITIALIZE)],
  ['no JSON', '{"jsonrpc":'],
  ['nothing', ''],
  ['JSON that is no message', '{"a":1}'],
  ['a null', 'null'],
  ['a number', '7'],
  ['an empty batch', '[]'],
  ['a batch with nonsense in it', `[${JSON.stringify(INITIALIZE)},7]`],
  ['what is longer than the author allows', long(2_000), { maxRequestBodySize: 1_000 }],
  ['what is as long as the author allows', long(2_000), { maxRequestBodySize: 10_000 }],
  ['what is longer than the SDK allows', long(4 * 1024 * 1024)],
  [
    'what is longer than the SDK allows by itself, and the author allows it',
    long(5 * 1024 * 1024),
    { maxRequestBodySize: 8e6 },
  ],
  ['a character in two chunks', JSON.stringify({ ...INITIALIZE, id: '\u{1F6D1}'.repeat(20_000) })],
];

describe.each(MAJORS)('%s', (_major, connect) => {
  const serve = async (options: object, isProtected: boolean): Promise<string> => {
    const estop = createEstop({ cleanupMs: Infinity, http: { mintSessions: false } });
    const { url } = await listen(async (incoming, response) => {
      const [server, transport] = connect({ sessionIdGenerator: undefined, enableJsonResponse: true, ...options });
      if (isProtected) estop.protect(server);
      await server.connect(transport as never);
      await transport.handleRequest(incoming, response);
    });
    return url;
  };

  test.each(BODIES)('%s', async (_what, body, options = {}) => {
    const [bare, ours] = [await serve(options, false), await serve(options, true)];
    const expected = await post(bare, body);
    expect(await post(ours, body)).toEqual(expected);
    expect(expected.status).toBeGreaterThanOrEqual(200);
  });

  test('another type of content is refused as the SDK does', async () => {
    const [bare, ours] = [await serve({}, false), await serve({}, true)];
    const body = JSON.stringify(INITIALIZE);
    const expected = await post(bare, body, 'text/plain');
    expect(expected.status).toBe(415);
    expect(await post(ours, body, 'text/plain')).toEqual(expected);
  });

  test('a client that goes away in the midst of a body leaves nothing', async () => {
    const estop = createEstop({ cleanupMs: Infinity });
    const [server, transport] = connect({ sessionIdGenerator: () => randomUUID() });
    estop.protect(server);
    await server.connect(transport as never);
    let handled: Promise<unknown> = Promise.resolve();
    const { url, http } = await listen((incoming, response) => {
      handled = transport.handleRequest(incoming, response);
      http.emit('handling');
    });
    const headers = { 'content-type': 'application/json', accept: ACCEPT, 'content-length': '1000' };
    const sent = request(url, { method: 'POST', headers, agent: false }).on('error', () => {});
    const handling = once(http, 'handling');
    sent.write('{"jsonrpc"');
    await handling;
    sent.destroy();
    await handled;
    expect(estop.stats().inFlight).toBe(0);
  });
});

const ACCEPT = 'application/json, text/event-stream';

async function post(url: string, body: string, type = 'application/json'): Promise<{ status: number; body: string }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': type, accept: ACCEPT, connection: 'close' },
    body,
  });
  return { status: response.status, body: await response.text() };
}
