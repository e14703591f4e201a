/**
 * Over HTTP: `http.mjs DOOR HANDLER PORT` puts the kit's tool, and one that has never heard of estop, behind a door that authors build of the bare SDKs.
 *
 * Doors:
 * - `v1-stateless` a server and a transport for each POST, as the SDK's example has it; a cancel comes to another one.
 * - `v1-stateful` a session, whose answers are event streams; `v1-stateful-json` the same, whose answers are JSON.
 * - `v2-handler` both eras, the legacy one stateless; `v2-handler-json` the same, whose modern answers are JSON.
 *
 * Handlers:
 * - `sound` passes its signal on to its work.
 * - `crashes` ends the whole server when it is cancelled.
 * - `answers` stops its work, and has the cancelled call answered all the same.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { slowMarker, slowMarkerTool } from '../../../dist/kit/index.js';

const [, , door, how, port] = process.argv;
const slow = slowMarker({ onSignal: 'forward', progress: true });

const HANDLERS = {
  sound: () => slow,
  // `createMcpHandler` fires the signal of what has ended normally, too.
  crashes: () => async (args, context) => {
    const { signal } = context.mcpReq ?? context;
    const crash = () => process.exit(1);
    signal.addEventListener('abort', crash);
    const result = await slow(args, context);
    signal.removeEventListener('abort', crash);
    return result;
  },
  answers: (send) => async (args, context) => {
    try {
      return await slow(args, context);
    } finally {
      if (context.signal.aborted) await send({ jsonrpc: '2.0', id: context.requestId, result: { content: [] } });
    }
  },
};

const fetchUrl = async ({ url }, context) => {
  const response = await fetch(url, { signal: (context.mcpReq ?? context).signal });
  return { content: [{ type: 'text', text: await response.text() }] };
};

function v1(transport) {
  const server = new McpServerV1({ name: 'subject', version: '1.0.0' });
  const inputSchema = { test_id: z.string(), work_url: z.string() };
  server.registerTool(
    'slow_marker',
    { inputSchema },
    HANDLERS[how]((answer) => transport.send(answer)),
  );
  server.registerTool('fetch_url', { inputSchema: { url: z.string() } }, fetchUrl);
  return server.connect(transport);
}

async function v1Stateless(req, res) {
  if (req.method !== 'POST') return void res.writeHead(405).end();
  const transport = new StreamableHTTPServerTransport({});
  await v1(transport);
  await transport.handleRequest(req, res);
}

function v1Stateful(enableJsonResponse) {
  const sessions = new Map();
  return async (req, res) => {
    let transport = sessions.get(req.headers['mcp-session-id']);
    if (!transport) {
      const onsessioninitialized = (id) => sessions.set(id, transport);
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        enableJsonResponse,
        onsessioninitialized,
      });
      await v1(transport);
    }
    await transport.handleRequest(req, res);
  };
}

function v2Handler(options) {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'subject', version: '1.0.0' });
    server.registerTool(slowMarkerTool.name, slowMarkerTool.config, HANDLERS[how]());
    server.registerTool('fetch_url', { inputSchema: z.object({ url: z.string() }) }, fetchUrl);
    return server;
  }, options);
  return toNodeHandler(handler);
}

const DOORS = {
  'v1-stateless': () => v1Stateless,
  'v1-stateful': () => v1Stateful(false),
  'v1-stateful-json': () => v1Stateful(true),
  'v2-handler': () => v2Handler({}),
  'v2-handler-json': () => v2Handler({ responseMode: 'json' }),
};

createServer(DOORS[door]()).listen(Number(port), '127.0.0.1', () => console.log(`listening on ${port}`));
