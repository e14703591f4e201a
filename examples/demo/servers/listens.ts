/** The bare SDK, and a handler that listens to its signal and gives up, but whose downstream request goes on. */
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { slowMarker, slowMarkerTool } from 'estop/kit';
import { hang } from './hang.ts';

serveStdio(() => {
  const server = new McpServer({ name: 'listens', version: '1.0.0' });
  server.registerTool(slowMarkerTool.name, slowMarkerTool.config, slowMarker({ onSignal: 'listen' }));
  server.registerTool('hang', {}, hang);
  return server;
});
