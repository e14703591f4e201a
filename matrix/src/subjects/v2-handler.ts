/** SDK v2's `createMcpHandler` on `node:http`: the modern era, and a stateless leg for the legacy one. */
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { slowMarker, slowMarkerTool } from 'estop/kit';
import { answersInJson, estop, port } from './asked.ts';

const getServer = (): McpServer => {
  const server = new McpServer({ name: 'v2-handler', version: '1.0.0' });
  server.registerTool(slowMarkerTool.name, slowMarkerTool.config, slowMarker({ onSignal: 'forward' }));
  estop?.protect(server);
  return server;
};

const handler = createMcpHandler(getServer, { responseMode: answersInJson ? 'json' : 'sse' });
createServer(toNodeHandler(handler)).listen(port, '127.0.0.1');
