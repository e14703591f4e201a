/** SDK v1 on Express without sessions: a new server and transport for each POST, closed when its response is. */
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { slowMarker } from 'estop/kit';
import { z } from 'zod';
import { answersInJson, estop, port } from './asked.ts';

const getServer = (): McpServer => {
  const server = new McpServer({ name: 'v1-stateless', version: '1.0.0' });
  const inputSchema = { test_id: z.string(), work_url: z.string() };
  server.registerTool('slow_marker', { inputSchema }, slowMarker({ onSignal: 'forward' }));
  return server;
};

const app = createMcpExpressApp();
app.post('/mcp', async (req, res) => {
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: answersInJson });
  const server = getServer();
  res.on('close', () => void server.close());
  estop?.protect(server);
  await server.connect(transport);
  await transport.handleRequest(req, res, req.body);
});
app.all('/mcp', (_req, res) => {
  res.status(405).json({ jsonrpc: '2.0', error: { code: -32000, message: 'Method not allowed.' }, id: null });
});
app.listen(port, '127.0.0.1');
