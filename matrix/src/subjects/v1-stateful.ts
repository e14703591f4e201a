/** SDK v1 on Express with sessions: a server and a transport for each, in a map by the session's id. */
import { randomUUID } from 'node:crypto';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import { slowMarker } from 'estop/kit';
import type { Request, Response } from 'express';
import { z } from 'zod';
import { answersInJson, estop, port } from './asked.ts';

const getServer = (): McpServer => {
  const server = new McpServer({ name: 'v1-stateful', version: '1.0.0' });
  const inputSchema = { test_id: z.string(), work_url: z.string() };
  server.registerTool('slow_marker', { inputSchema }, slowMarker({ onSignal: 'forward' }));
  return server;
};

const transports = new Map<string, StreamableHTTPServerTransport>();

async function open(): Promise<StreamableHTTPServerTransport> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    enableJsonResponse: answersInJson,
    onsessioninitialized: (id) => void transports.set(id, transport),
  });
  transport.onclose = () => void transports.delete(transport.sessionId ?? '');
  const server = getServer();
  estop?.protect(server);
  await server.connect(transport);
  return transport;
}

async function handle(req: Request, res: Response): Promise<void> {
  const known = transports.get(String(req.headers['mcp-session-id']));
  const transport = known ?? (isInitializeRequest(req.body) ? await open() : undefined);
  if (transport) await transport.handleRequest(req, res, req.body);
  else res.status(404).json({ jsonrpc: '2.0', error: { code: -32001, message: 'Session not found' }, id: null });
}

const app = createMcpExpressApp();
app.post('/mcp', handle);
app.get('/mcp', handle);
app.delete('/mcp', handle);
app.listen(port, '127.0.0.1');
