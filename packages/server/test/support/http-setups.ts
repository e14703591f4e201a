/** The ways to serve a protected server over HTTP, as authors write them. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { WebStandardStreamableHTTPServerTransport as WebTransportV1 } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  createMcpHandler,
  McpServer as McpServerV2,
  WebStandardStreamableHTTPServerTransport as WebTransportV2,
} from '@modelcontextprotocol/server';
import express from 'express';
import { Hono } from 'hono';
import { onTestFinished } from 'vitest';
import type { Era } from './peer.ts';
import { type Latch, latch, soon } from './waiting.ts';

export const RESULT = { content: [{ type: 'text' as const, text: 'the result' }] };

/** A handler that waits for the test. */
export interface Held {
  readonly id: string | number;
  readonly signal: AbortSignal;
  /** SDK v1's `extra` or v2's `ctx`. */
  readonly context: never;
  returns(result?: object): void;
  /** Resolves when its signal has fired, with the reason. */
  readonly stopped: Promise<unknown>;
}

/** All that is held, of all servers of a test, by the id of its call. */
export class Holding {
  readonly starts: (string | number)[] = [];
  readonly #latches = new Map<string, Latch<Held>[]>();
  readonly #all: Held[] = [];
  #isOver = false;

  constructor() {
    onTestFinished(() => this.releaseAll());
  }

  started(id: string | number, nth = 0): Promise<Held> {
    return soon(this.#of(id, nth).promise, `the handler of call ${JSON.stringify(id)} starts`);
  }

  releaseAll(): void {
    this.#isOver = true;
    for (const held of this.#all) held.returns();
  }

  hold = (context: unknown): Promise<typeof RESULT> => {
    const { mcpReq, ...extra } = context as { mcpReq?: { id: string | number; signal: AbortSignal } } & {
      requestId: string | number;
    };
    const id = mcpReq?.id ?? extra.requestId;
    const signal = mcpReq?.signal ?? (context as { signal: AbortSignal }).signal;
    const nth = this.starts.filter((started) => started === id).length;
    this.starts.push(id);
    const result = latch<object>();
    const stopped = latch<unknown>();
    if (signal.aborted) stopped.open(signal.reason);
    else signal.addEventListener('abort', () => stopped.open(signal.reason), { once: true });
    const held: Held = {
      id,
      signal,
      context: context as never,
      returns: (value = RESULT) => result.open(value),
      get stopped() {
        return soon(stopped.promise, `the handler of call ${JSON.stringify(id)} has its signal`);
      },
    };
    this.#all.push(held);
    if (this.#isOver) held.returns();
    this.#of(id, nth).open(held);
    return result.promise as Promise<typeof RESULT>;
  };

  #of(id: string | number, nth: number): Latch<Held> {
    const key = JSON.stringify(id);
    const latches = this.#latches.get(key) ?? [];
    this.#latches.set(key, latches);
    while (latches.length <= nth) latches.push(latch<Held>());
    return latches[nth] as Latch<Held>;
  }
}

export type AnyServer = McpServerV1 | McpServerV2;

export interface Serving {
  /** What is put around each server. */
  protect<T extends AnyServer>(server: T): T;
  readonly holding: Holding;
  readonly eventStore?: object;
  /** Awaited before each server is made, where one is made for each request. */
  beforeServer?(): Promise<void>;
  /** Who sends it, as an author's authentication would say. */
  auth?(request: IncomingMessage): unknown;
}

export interface Served {
  readonly url: string;
  readonly http: HttpServer;
  /** The transports of all sessions, where there are some. */
  readonly transports: Map<string, object>;
}

export interface Setup {
  readonly name: string;
  readonly era: Era;
  readonly sessions: boolean;
  readonly json: boolean;
  serve(serving: Serving): Promise<Served>;
}

function serverV1({ protect, holding }: Serving): McpServerV1 {
  const server = new McpServerV1({ name: 'held', version: '1' }, { capabilities: { logging: {} } });
  server.registerTool('hold', {}, holding.hold as never);
  server.registerTool('quick', {}, () => RESULT);
  return protect(server);
}

function serverV2({ protect, holding }: Serving): McpServerV2 {
  const server = new McpServerV2({ name: 'held', version: '1' }, { capabilities: { logging: {} } });
  server.registerTool('hold', {}, holding.hold as never);
  server.registerTool('quick', {}, () => RESULT);
  return protect(server);
}

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

export async function listen(handler: Handler): Promise<{ url: string; http: HttpServer }> {
  const http = createServer((request, response) => void handler(request, response));
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(async () => {
    http.closeAllConnections();
    http.close();
    await once(http, 'close');
  });
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`, http };
}

interface SessionTransport {
  sessionId?: string | undefined;
  handleRequest(request: IncomingMessage, response: ServerResponse, body?: unknown): Promise<void>;
}

/** With Express, as the SDK's examples have it: a transport for each session, in a map. */
async function sessions(serving: Serving, connect: (options: object) => Promise<SessionTransport>): Promise<Served> {
  const transports = new Map<string, SessionTransport>();
  const app = express();
  app.use(express.json());
  app.all('/mcp', async (request, response) => {
    Object.assign(request, { auth: serving.auth?.(request) });
    const id = request.headers['mcp-session-id'] as string | undefined;
    let transport = id === undefined ? undefined : transports.get(id);
    if (transport === undefined) {
      if (request.body?.method !== 'initialize') {
        response.status(404).json({ jsonrpc: '2.0', error: { code: -32001, message: 'Session not found' }, id: null });
        return;
      }
      const made = await connect({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (sessionId: string) => void transports.set(sessionId, made),
        onsessionclosed: (sessionId: string) => void transports.delete(sessionId),
        ...(serving.eventStore && { eventStore: serving.eventStore }),
      });
      transport = made;
    }
    await transport.handleRequest(request, response, request.body);
  });
  return { ...(await listen(app)), transports };
}

interface WebTransport {
  handleRequest(request: Request, options: object): Promise<Response>;
  close(): Promise<void>;
}

/** With Hono, on the web's own Request and Response. */
async function onHono(
  serving: Serving,
  connect: (options: object) => Promise<WebTransport>,
  isStateful: boolean,
): Promise<Served> {
  const transports = new Map<string, WebTransport>();
  const app = new Hono();
  app.all('/mcp', async ({ req: { raw } }) => {
    const headers = Object.fromEntries(raw.headers);
    const authInfo = serving.auth?.({ headers } as unknown as IncomingMessage);
    const known = transports.get(raw.headers.get('mcp-session-id') ?? '');
    if (!isStateful) await serving.beforeServer?.();
    const transport: WebTransport =
      known ??
      (await connect(
        isStateful
          ? {
              sessionIdGenerator: () => randomUUID(),
              onsessioninitialized: (sessionId: string) => void transports.set(sessionId, transport),
              onsessionclosed: (sessionId: string) => void transports.delete(sessionId),
              ...(serving.eventStore && { eventStore: serving.eventStore }),
            }
          : {},
      ));
    if (!isStateful) raw.signal.addEventListener('abort', () => void transport.close(), { once: true });
    return transport.handleRequest(raw, { ...(authInfo !== undefined && { authInfo }) });
  });
  const handle = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  return { ...(await listen(handle)), transports };
}

async function eachPost(serving: Serving, json: boolean): Promise<Served> {
  const app = express();
  app.use(express.json());
  app.post('/mcp', async (request, response) => {
    Object.assign(request, { auth: serving.auth?.(request) });
    await serving.beforeServer?.();
    const server = serverV1(serving);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: undefined,
      enableJsonResponse: json,
    } as never);
    response.on('close', () => {
      void transport.close();
      void server.close();
    });
    await server.connect(transport as never);
    await transport.handleRequest(request, response, request.body);
  });
  app.all('/mcp', (_request, response) => void response.status(405).end());
  return { ...(await listen(app)), transports: new Map() };
}

async function handler(serving: Serving, options: object): Promise<Served> {
  const handle = toNodeHandler(
    createMcpHandler(async () => {
      await serving.beforeServer?.();
      return serverV2(serving);
    }, options),
  );
  const listening = await listen((request, response) => {
    Object.assign(request, { auth: serving.auth?.(request) });
    return handle(request as never, response);
  });
  return { ...listening, transports: new Map() };
}

const v1Sessions = (serving: Serving, json: boolean): Promise<Served> =>
  sessions(serving, async (options) => {
    const transport = new StreamableHTTPServerTransport({ ...options, enableJsonResponse: json });
    await serverV1(serving).connect(transport as never);
    return transport as SessionTransport;
  });

const v2Sessions = (serving: Serving, json: boolean): Promise<Served> =>
  sessions(serving, async (options) => {
    const transport = new NodeStreamableHTTPServerTransport({ ...options, enableJsonResponse: json });
    await serverV2(serving).connect(transport);
    return transport as SessionTransport;
  });

const honoV1 = (serving: Serving, json: boolean, isStateful: boolean): Promise<Served> =>
  onHono(
    serving,
    async (options) => {
      const transport = new WebTransportV1({ ...options, enableJsonResponse: json } as never);
      await serverV1(serving).connect(transport as never);
      return transport as WebTransport;
    },
    isStateful,
  );

const honoV2 = (serving: Serving, json: boolean, isStateful: boolean): Promise<Served> =>
  onHono(
    serving,
    async (options) => {
      const transport = new WebTransportV2({ ...options, enableJsonResponse: json });
      await serverV2(serving).connect(transport);
      return transport as WebTransport;
    },
    isStateful,
  );

const LEGACY = { era: 'legacy', sessions: true, json: false } as const;

export const SETUPS: readonly Setup[] = [
  { ...LEGACY, name: 'v1 stateful SSE', serve: (serving) => v1Sessions(serving, false) },
  { ...LEGACY, name: 'v1 stateful JSON', json: true, serve: (serving) => v1Sessions(serving, true) },
  { ...LEGACY, name: 'v1 stateless SSE', sessions: false, serve: (serving) => eachPost(serving, false) },
  { ...LEGACY, name: 'v1 stateless JSON', sessions: false, json: true, serve: (serving) => eachPost(serving, true) },
  { ...LEGACY, name: 'v2 stateful SSE', serve: (serving) => v2Sessions(serving, false) },
  { ...LEGACY, name: 'v2 stateful JSON', json: true, serve: (serving) => v2Sessions(serving, true) },
  { ...LEGACY, name: 'v2 handler, legacy leg', sessions: false, serve: (serving) => handler(serving, {}) },
  { ...LEGACY, name: 'v1 stateful SSE, on Hono', serve: (serving) => honoV1(serving, false, true) },
  { ...LEGACY, name: 'v1 stateful JSON, on Hono', json: true, serve: (serving) => honoV1(serving, true, true) },
  { ...LEGACY, name: 'v1 stateless SSE, on Hono', sessions: false, serve: (serving) => honoV1(serving, false, false) },
  { ...LEGACY, name: 'v2 stateful SSE, on Hono', serve: (serving) => honoV2(serving, false, true) },
  { ...LEGACY, name: 'v2 stateful JSON, on Hono', json: true, serve: (serving) => honoV2(serving, true, true) },
  {
    ...LEGACY,
    name: 'v2 stateless JSON, on Hono',
    json: true,
    sessions: false,
    serve: (serving) => honoV2(serving, true, false),
  },
  {
    name: 'v2 handler, modern SSE',
    era: 'modern',
    sessions: false,
    json: false,
    serve: (serving) => handler(serving, {}),
  },
  {
    name: 'v2 handler, modern JSON',
    era: 'modern',
    sessions: false,
    json: true,
    serve: (serving) => handler(serving, { responseMode: 'json' }),
  },
];

/** Of all maps and sets in a transport of the SDK, and in the one that it wraps. */
export function mapSizes(transport: object): number[] {
  return Object.values(transport).flatMap((value) => {
    if (value instanceof Map || value instanceof Set) return [value.size];
    return value?.constructor?.name === 'WebStandardStreamableHTTPServerTransport' ? mapSizes(value) : [];
  });
}
