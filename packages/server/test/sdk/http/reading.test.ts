/** Two POSTs of one session that are being read at once: each message is of the exchange that it came in. */
import { createEstop } from '@estop/server';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { WebStandardStreamableHTTPServerTransport as WebTransportV1 } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  McpServer as McpServerV2,
  WebStandardStreamableHTTPServerTransport as WebTransportV2,
} from '@modelcontextprotocol/server';
import { describe, expect, test } from 'vitest';
import { Holding } from '../../support/http-setups.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { turn, turns } from '../../support/waiting.ts';

interface Transport {
  handleRequest(request: Request): Promise<Response>;
  close(): Promise<void>;
}

const MAJORS: readonly [string, (options: object) => [McpServerV2, Transport]][] = [
  [
    'v1',
    (options) => [
      new McpServerV1({ name: 'reads', version: '1' }) as unknown as McpServerV2,
      new WebTransportV1(options as never),
    ],
  ],
  ['v2', (options) => [new McpServerV2({ name: 'reads', version: '1' }), new WebTransportV2(options)]],
];

const GRACE_MS = 5_000;

describe.each(MAJORS)('%s', (_major, connect) => {
  test.each(['first', 'second'] as const)(
    'the client of the %s one hangs up: that call stops, and no other',
    async (who) => {
      const clock = new VirtualClock();
      const estop = createEstop({ clock, cleanupMs: Infinity });
      const holding = new Holding();
      const [server, transport] = connect({ sessionIdGenerator: () => 'one' });
      server.registerTool('hold', {}, holding.hold as never);
      estop.protect(server);
      await server.connect(transport as never);
      await (await transport.handleRequest(slowly(INITIALIZE).finished().request)).text();

      const first = slowly(callFrame('first'));
      const second = slowly(callFrame('second'));
      const answers = [transport.handleRequest(first.request), transport.handleRequest(second.request)];
      await turns();
      // The one that came later is read first.
      second.finished();
      await holding.started('second');
      first.finished();
      await holding.started('first');

      const [gone, kept] = who === 'first' ? [first, 'second'] : [second, 'first'];
      gone.hangsUp();
      while (clock.pending === 0) await turn();
      clock.advance(GRACE_MS);
      expect(await (await holding.started(who)).stopped).toMatchObject({ kind: 'disconnected' });
      const other = await holding.started(kept);
      expect(other.signal.aborted).toBe(false);
      other.returns();
      const texts = await Promise.all(answers.map(async (answer) => (await answer).text()));
      expect(texts.filter((text) => text.includes('the result')).length).toBe(1);
      holding.releaseAll();
      await turns();
      expect(estop.stats().inFlight).toBe(0);
      await transport.close();
    },
  );
});

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 'initialize',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'reads', version: '1' } },
};

function callFrame(id: string): object {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'hold', arguments: {} } };
}

/** A request whose body comes when the test says so. */
function slowly(frame: object): { request: Request; finished(): { request: Request }; hangsUp(): void } {
  const client = new AbortController();
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given;
    },
  });
  const headers = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'mcp-protocol-version': '2025-11-25',
    'mcp-session-id': 'one',
  };
  const init = { method: 'POST', headers, body, duplex: 'half', signal: client.signal };
  const request = new Request('http://localhost/mcp', init as RequestInit);
  return {
    request,
    finished() {
      controller?.enqueue(new TextEncoder().encode(JSON.stringify(frame)));
      controller?.close();
      return { request };
    },
    hangsUp: () => client.abort(),
  };
}
