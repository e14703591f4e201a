/** The bare SDK, and a handler that does all that a handler can: it passes its signal on to its downstream request. */
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { slowMarker, slowMarkerTool } from 'estop/kit';
import { hang } from './hang.ts';

serveStdio(() => {
  const server = new McpServer({ name: 'forwards', version: '1.0.0' });
  server.registerTool(slowMarkerTool.name, slowMarkerTool.config, slowMarker({ onSignal: 'forward' }));
  server.registerTool('hang', {}, hang);
  return server;
});
