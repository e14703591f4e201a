/** The doors in Express, Fastify and Hono, with SDK clients of both majors; and the line before an app's own routes. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createEstop, type Estop, type EstopOptions, type HttpServerFactory } from '@estop/server';
import { serve } from '@hono/node-server';
import { createMcpHandler, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Holding, listen, RESULT } from '../support/http-setups.ts';
import { noSockets, RawClient } from '../support/raw-http.ts';
import { SDK_CLIENTS } from '../support/sdk-clients.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { soon, turns, until } from '../support/waiting.ts';
import { serverOf } from './doors.ts';

interface App {
  readonly url: string;
  readonly http: Server;
}

interface Mounted extends App {
  close(): Promise<void>;
}

type Mount = (estop: Estop, factory: HttpServerFactory) => Promise<Mounted>;

async function onHono(app: Hono): Promise<App> {
  const http = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server;
  if (!http.listening) await once(http, 'listening');
  onTestFinished(async () => {
    http.closeAllConnections();
    http.close();
    await once(http, 'close');
  });
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`, http };
}

const FRAMEWORKS: Readonly<Record<string, Mount>> = {
  'Express, with a body parser': async (estop, factory) => {
    const handler = estop.nodeHandler(factory);
    const app = express().use(express.json()).all('/mcp', handler);
    return { ...(await listen(app)), close: handler.close };
  },
  'Express, without one': async (estop, factory) => {
    const handler = estop.nodeHandler(factory);
    return { ...(await listen(express().all('/mcp', handler))), close: handler.close };
  },
  Fastify: async (estop, factory) => {
    const handler = estop.nodeHandler(factory);
    const app = fastify();
    app.all('/mcp', (request, reply) => {
      reply.hijack();
      return handler(request.raw, reply.raw, request.body);
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
    onTestFinished(() => {
      app.server.closeAllConnections();
      return app.close();
    });
    const { port } = app.server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}/mcp`, http: app.server, close: handler.close };
  },
  Hono: async (estop, factory) => {
    const handler = estop.fetchHandler(factory);
    const app = new Hono().all('/mcp', (c) => handler.fetch(c.req.raw));
    return { ...(await onHono(app)), close: handler.close };
  },
};

function setUp(options: EstopOptions = {}): { estop: Estop; holding: Holding; clock: VirtualClock } {
  const clock = new VirtualClock();
  const estop = createEstop({ clock, cleanupMs: Infinity, graceMs: 0, ...options });
  const holding = new Holding();
  onTestFinished(async () => {
    holding.releaseAll();
    await estop.stop();
  });
  return { estop, holding, clock };
}

describe.each(Object.entries(FRAMEWORKS))('%s', (_framework, mount) => {
  describe.each(['v1', 'v2'] as const)('a server of SDK %s', (sdk) => {
    const clients = SDK_CLIENTS.filter(([, era]) => sdk === 'v2' || era === 'legacy');

    test.each(clients)('%s calls, cancels, and calls again', async (_who, _era, connect) => {
      const { estop, holding } = setUp();
      const { url } = await mount(estop, () => serverOf(sdk, holding));
      const client = await connect(url);
      expect(await client.callTool({ name: 'quick' })).toMatchObject(RESULT);
      const stop = new AbortController();
      const called = client.callTool({ name: 'hold' }, { signal: stop.signal });
      called.catch(() => {});
      await until(() => holding.starts.length > 0, 'a handler starts');
      const held = await holding.started(holding.starts[0] as number);
      stop.abort();
      await expect(called).rejects.toThrow();
      expect(((await held.stopped) as { kind: string }).kind).toMatch(/cancelled|disconnected/);
      held.returns();
      expect(await client.callTool({ name: 'quick' })).toMatchObject(RESULT);
      await turns();
      expect(estop.stats()).toMatchObject({ inFlight: 0, ignoredCancels: 0 });
    });
  });

  test('a hang-up is seen in both eras, and close() leaves no socket that a client does not hold', async () => {
    const { estop, holding, clock } = setUp();
    const { url, http, close } = await mount(estop, () => serverOf('v2', holding));
    const [modern, legacy] = [new RawClient(url, 'modern'), await new RawClient(url, 'legacy').initialize()];
    const exchanges = [modern.call(1, 'hold'), legacy.call(2, 'hold')];
    const [one, two] = [await holding.started(1), await holding.started(2)];
    for (const exchange of exchanges) exchange.hangUp();
    expect(await one.stopped).toMatchObject({ kind: 'disconnected' });
    expect(two.signal.aborted).toBe(false);
    await until(() => clock.pending > 0, 'the hang-up is seen');
    clock.advance(5_000);
    expect(await two.stopped).toMatchObject({ kind: 'disconnected' });
    for (const held of [one, two]) held.returns();
    await soon(close(), 'the door is closed');
    for (const client of [modern, legacy]) client.agent.destroy();
    await noSockets(http);
    expect(estop.stats().inFlight).toBe(0);
  });
});

/** Apps that connect their servers by hand, as far as the SDK's transport for the web goes. */
const OWN_ROUTES: Readonly<Record<string, (estop: Estop, holding: Holding) => Promise<App>>> = {
  Express: (estop, holding) => {
    const app = express().use(estop.express()).use(express.json());
    return listen(app.post('/mcp', (request, response) => byHand(estop, holding, request, response)));
  },
  Fastify: async (estop, holding) => {
    const app = fastify();
    app.addHook('onRequest', estop.fastify());
    app.all('/mcp', (request, reply) => {
      reply.hijack();
      return byHand(estop, holding, Object.assign(request.raw, { body: request.body }), reply.raw);
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
    onTestFinished(() => {
      app.server.closeAllConnections();
      return app.close();
    });
    return { url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/mcp`, http: app.server };
  },
  Hono: (estop, holding) => {
    const app = new Hono();
    app.use(estop.hono());
    app.post('/mcp', (c) => overWeb(estop, holding, c.req.raw));
    return onHono(app);
  },
  'Hono, after a reader of headers, with a request that has lost its signal': (estop, holding) => {
    const app = new Hono();
    app.use(async (c, next) => {
      c.req.header();
      await next();
    });
    app.use(estop.hono());
    app.post('/mcp', async (c) => {
      const { url, method, headers } = c.req.raw;
      return overWeb(estop, holding, new Request(url, { method, headers, body: await c.req.text() }));
    });
    return onHono(app);
  },
};

async function byHand(estop: Estop, holding: Holding, request: { body?: unknown }, response: unknown): Promise<void> {
  const { StreamableHTTPServerTransport } = await import('@modelcontextprotocol/sdk/server/streamableHttp.js');
  const server = estop.protect(serverOf('v1', holding));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined } as never);
  await server.connect(transport as never);
  await transport.handleRequest(request as never, response as never, request.body);
}

async function overWeb(estop: Estop, holding: Holding, request: Request): Promise<Response> {
  const server = estop.protect(serverOf('v2', holding));
  const transport = new WebStandardStreamableHTTPServerTransport({});
  await server.connect(transport as never);
  return transport.handleRequest(request);
}

describe.each(Object.entries(OWN_ROUTES))('the own routes of %s', (_framework, serveApp) => {
  test('a DELETE of a session that estop minted stops its calls', async () => {
    const { estop, holding } = setUp();
    const client = await new RawClient((await serveApp(estop, holding)).url, 'legacy').initialize();
    expect(client.sessionId).toMatch(/^estop-/);
    const exchange = client.call(1, 'hold');
    const held = await holding.started(1);
    const deleted = client.delete();
    await deleted.over;
    expect(deleted.status).toBe(200);
    expect(await held.stopped).toMatchObject({ kind: 'disconnected' });
    expect(await exchange.over).toBe('ended');
  });

  test('callers can be told apart by their address', async () => {
    const { estop, holding } = setUp({ http: { addresses: true, mintSessions: false } });
    const client = await new RawClient((await serveApp(estop, holding)).url, 'legacy').initialize();
    client.call(1, 'hold');
    await holding.started(1);
    expect(estop.calls().map(({ scope }) => scope)).toEqual(['ip:127.0.0.1']);
  });

  test('a hang-up is noticed', async () => {
    const { estop, holding, clock } = setUp();
    const client = await new RawClient((await serveApp(estop, holding)).url, 'legacy').initialize();
    const exchange = client.call(1, 'hold');
    const held = await holding.started(1);
    exchange.hangUp();
    await until(() => clock.pending > 0, 'the hang-up is seen');
    clock.advance(5_000);
    expect(await held.stopped).toMatchObject({ kind: 'disconnected' });
  });
});

test("the SDK's own entry behind the middleware of Hono knows the address of a modern client", async () => {
  const { estop, holding } = setUp({ http: { addresses: true } });
  const handler = createMcpHandler(() => estop.protect(serverOf('v2', holding)) as never);
  const app = new Hono();
  app.use(estop.hono()).all('/mcp', (c) => handler.fetch(c.req.raw));
  new RawClient((await onHono(app)).url, 'modern').call(1, 'hold');
  await holding.started(1);
  expect(estop.calls().map(({ scope }) => scope)).toEqual(['ip:127.0.0.1']);
});

test("the SDK's own entry, given a request that has lost its signal: a modern client's hang-up is its cancel", async () => {
  const { estop, holding } = setUp();
  const handler = createMcpHandler(() => estop.protect(serverOf('v2', holding)) as never);
  const app = new Hono();
  app.use(estop.hono()).all('/mcp', async (c) => {
    const { url, method, headers } = c.req.raw;
    return handler.fetch(new Request(url, { method, headers, body: await c.req.text() }));
  });
  const exchange = new RawClient((await onHono(app)).url, 'modern').call(1, 'hold');
  const held = await holding.started(1);
  exchange.hangUp();
  expect(await held.stopped).toMatchObject({ kind: 'disconnected' });
  held.returns();
  await turns();
  expect(estop.stats().inFlight).toBe(0);
});
