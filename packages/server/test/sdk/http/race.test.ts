/**
 * Cancels that race answers, in every order: on the web's transports of both majors, without a socket in between, so
 * that an order is the order.
 */
import { createEstop } from '@estop/server';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { WebStandardStreamableHTTPServerTransport as WebTransportV1 } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  McpServer as McpServerV2,
  WebStandardStreamableHTTPServerTransport as WebTransportV2,
} from '@modelcontextprotocol/server';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Holding, mapSizes, RESULT } from '../../support/http-setups.ts';
import { cancelFrame, type Frame } from '../../support/peer.ts';
import { soon, turns } from '../../support/waiting.ts';

interface Transport {
  handleRequest(request: Request): Promise<Response>;
  close(): Promise<void>;
}

const MAJORS: readonly [string, (options: object) => [McpServerV1 | McpServerV2, Transport]][] = [
  ['v1', (options) => [new McpServerV1({ name: 'race', version: '1' }), new WebTransportV1(options as never)]],
  ['v2', (options) => [new McpServerV2({ name: 'race', version: '1' }), new WebTransportV2(options as never)]],
];

/** What happens to one request of the batch; the rest of the batch goes on meanwhile. */
interface Step {
  readonly id: number;
  readonly what: 'cancel' | 'return';
  /** Turns of the microtask queue that pass before the next step. */
  readonly pause: number;
}

const steps = (size: number): fc.Arbitrary<Step[]> => {
  const all = Array.from({ length: size }, (_, id) => [
    { id, what: 'cancel' } as const,
    { id, what: 'return' } as const,
  ]);
  const pauses = fc.array(fc.nat(12), { minLength: 2 * size, maxLength: 2 * size });
  return fc
    .tuple(fc.shuffledSubarray(all.flat(), { minLength: 2 * size }), pauses)
    .map(([order, pauses]) => order.map((step, n) => ({ ...step, pause: pauses[n] ?? 0 })));
};

const batches = fc.integer({ min: 1, max: 4 }).chain((size) => fc.tuple(fc.constant(size), steps(size)));

describe.each(MAJORS)('%s', (_major, connect) => {
  test.each([
    ['SSE', false],
    ['JSON', true],
  ])(
    '%s: at most one frame for a call, none for one that was cancelled first, and the exchange ends',
    async (_how, json) => {
      const run = async ([size, order]: [number, Step[]]): Promise<void> => {
        const holding = new Holding();
        const estop = createEstop({ cleanupMs: Infinity });
        const [server, transport] = connect({ sessionIdGenerator: () => 'one', enableJsonResponse: json });
        (server as McpServerV2).registerTool('hold', {}, holding.hold as never);
        estop.protect(server);
        await server.connect(transport as never);
        const post = (body: unknown): Promise<Response> => transport.handleRequest(requestOf(body));
        await (await post(INITIALIZE)).text();

        const answer = post(Array.from({ length: size }, (_, id) => callFrame(id)));
        const helds = await Promise.all(Array.from({ length: size }, (_, id) => holding.started(id)));
        const cancels: Promise<Response>[] = [];
        const cancelledFirst = new Set<number>();
        for (const { id, what, pause } of order) {
          if (what === 'return') helds[id]?.returns();
          else cancels.push(post(cancelFrame(id)));
          for (let n = 0; n < pause; n += 1) await Promise.resolve();
          if (estop.calls().some((call) => call.id === id && call.reason !== undefined)) cancelledFirst.add(id);
        }
        await Promise.all(cancels);
        const response = await soon(answer, 'an answer begins');
        const frames = framesIn(await soon(response.text(), 'the exchange ends'));
        const answered = frames.map(({ id }) => id);
        expect(new Set(answered).size).toBe(answered.length);
        for (const id of cancelledFirst) expect(answered).not.toContain(id);
        for (const frame of frames) expect(frame.result).toMatchObject(RESULT);
        await turns();
        expect(estop.stats().inFlight).toBe(0);
        // v1 in JSON mode keeps an entry of each exchange that it has answered itself.
        if (!(json && transport instanceof WebTransportV1))
          expect(mapSizes(transport)).toEqual(mapSizes(transport).fill(0));
        await transport.close();
        await estop.stop();
      };
      await fc.assert(fc.asyncProperty(batches, run), { numRuns: 150 });
    },
  );
});

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 'initialize',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'race', version: '1' } },
};

function callFrame(id: number): Frame {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'hold', arguments: {} } };
}

function requestOf(body: unknown): Request {
  const headers = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'mcp-protocol-version': '2025-11-25',
    'mcp-session-id': 'one',
  };
  return new Request('http://localhost/mcp', { method: 'POST', headers, body: JSON.stringify(body) });
}

function framesIn(body: string): Frame[] {
  if (body === '') return [];
  const texts = body.startsWith('event:') ? [...body.matchAll(/^data: (.*)$/gm)].map(([, text = '']) => text) : [body];
  return texts.flatMap((text) => JSON.parse(text) as Frame | Frame[]);
}
