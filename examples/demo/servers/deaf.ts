/** The bare SDK, and a handler that ignores its signal. */
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { slowMarkerTool } from 'estop/kit';
import { hang, slow } from './deaf-tools.ts';

serveStdio(() => {
  const server = new McpServer({ name: 'deaf', version: '1.0.0' });
  server.registerTool(slowMarkerTool.name, slowMarkerTool.config, slow);
  server.registerTool('hang', {}, hang);
  return server;
});
