/** SDK v1 over stdio. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { slowMarker } from 'estop/kit';
import { z } from 'zod';
import { estop } from './asked.ts';

const getServer = (): McpServer => {
  const server = new McpServer({ name: 'v1-stdio', version: '1.0.0' });
  const inputSchema = { test_id: z.string(), work_url: z.string() };
  server.registerTool('slow_marker', { inputSchema }, slowMarker({ onSignal: 'forward' }));
  return server;
};

if (estop) await estop.serveStdio(getServer);
else await getServer().connect(new StdioServerTransport());
