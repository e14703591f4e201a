/** estop's doors over HTTP, in every way in which they serve, for one test. */
import type { Server as HttpServer, IncomingMessage } from 'node:http';
import { createEstop, type Estop, type EstopOptions, type HttpHandlerOptions } from '@estop/server';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { McpServer as McpServerV2 } from '@modelcontextprotocol/server';
import { onTestFinished } from 'vitest';
import { Holding, listen, RESULT } from '../support/http-setups.ts';
import type { Era } from '../support/peer.ts';
import { RawClient } from '../support/raw-http.ts';
import { GRACE_MS } from '../support/rig.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

type Sdk = 'v1' | 'v2';

export interface Way {
  readonly name: string;
  readonly sdk: Sdk;
  readonly era: Era;
  readonly options: HttpHandlerOptions;
}

const LEGACY: readonly Way[] = (['v1', 'v2'] as const).flatMap((sdk) =>
  [false, true].flatMap((sessions) =>
    [false, true].map((json) => ({
      name: `${sdk}, ${sessions ? 'sessions' : 'no sessions'}, ${json ? 'JSON' : 'SSE'}`,
      sdk,
      era: 'legacy' as const,
      options: { sessions, json },
    })),
  ),
);
const MODERN: readonly Way[] = [false, true].map((json) => ({
  name: `v2, modern, ${json ? 'JSON' : 'SSE'}`,
  sdk: 'v2',
  era: 'modern',
  options: { json },
}));
export const WAYS = { legacy: LEGACY, modern: MODERN, all: [...LEGACY, ...MODERN] };

export interface Made {
  readonly estop: Estop;
  readonly clock: VirtualClock;
  readonly holding: Holding;
  readonly url: string;
  readonly http: HttpServer;
  readonly door: Pick<ReturnType<Estop['nodeHandler']>, 'close' | 'destroy'>;
  /** How many of its servers are connected. */
  readonly servers: () => number;
  /** What the door has told of errors. */
  readonly errors: Error[];
  connect(headers?: Record<string, string>): Promise<RawClient>;
}

export interface MadeOptions {
  readonly estop?: EstopOptions;
  readonly handler?: HttpHandlerOptions;
  /** Before each server is made. */
  readonly before?: () => Promise<void> | void;
  readonly auth?: (request: IncomingMessage) => unknown;
}

export function serverOf(sdk: Sdk, holding: Holding): McpServerV1 | McpServerV2 {
  const info = { name: 'held', version: '1' };
  const capabilities = { capabilities: { logging: {} } };
  if (sdk === 'v1') {
    const server = new McpServerV1(info, capabilities);
    server.registerTool('hold', {}, holding.hold as never);
    server.registerTool('quick', {}, () => RESULT);
    return server;
  }
  const server = new McpServerV2(info, capabilities);
  server.registerTool('hold', {}, holding.hold as never);
  server.registerTool('quick', {}, () => RESULT);
  return server;
}

export async function made(way: Way, { estop: given, handler, before, auth }: MadeOptions = {}): Promise<Made> {
  const clock = new VirtualClock();
  const estop = createEstop({ clock, cleanupMs: Infinity, graceMs: GRACE_MS, ...given });
  const holding = new Holding();
  const errors: Error[] = [];
  let servers = 0;
  const door = estop.nodeHandler(
    async () => {
      await before?.();
      const server = serverOf(way.sdk, holding);
      const connect = server.connect.bind(server);
      server.connect = (transport: never) => {
        servers += 1;
        return connect(transport);
      };
      server.server.onclose = () => {
        servers -= 1;
      };
      return server;
    },
    { ...way.options, onerror: (error) => void errors.push(error), ...handler },
  );
  const { url, http } = await listen((request, response) => {
    if (auth) Object.assign(request, { auth: auth(request) });
    return door(request, response);
  });
  onTestFinished(async () => {
    holding.releaseAll();
    await estop.stop();
    await door.destroy();
  });
  const connect = (headers?: Record<string, string>): Promise<RawClient> =>
    new RawClient(url, way.era, headers).initialize();
  return { estop, clock, holding, url, http, door, servers: () => servers, errors, connect };
}
