/** SDK v2 over stdio; it serves both eras. */
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { slowMarker, slowMarkerTool } from 'estop/kit';
import { estop } from './asked.ts';

const getServer = (): McpServer => {
  const server = new McpServer({ name: 'v2-stdio', version: '1.0.0' });
  server.registerTool(slowMarkerTool.name, slowMarkerTool.config, slowMarker({ onSignal: 'forward' }));
  return server;
};

if (estop) await estop.serveStdio(getServer);
else serveStdio(getServer);
