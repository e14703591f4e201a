/** The same deaf server with `protect()` alone: its callers are answered, and what it started goes on. */
import { createEstop } from '@estop/server';
import { McpServer } from '@modelcontextprotocol/server';
import { slowMarkerTool } from 'estop/kit';
import { hang, slow } from './deaf-tools.ts';

const estop = createEstop();

await estop.serveStdio(() => {
  const server = new McpServer({ name: 'protected', version: '1.0.0' });
  server.registerTool(slowMarkerTool.name, slowMarkerTool.config, slow);
  server.registerTool('hang', {}, hang);
  return estop.protect(server, { tools: { hang: { timeoutMs: 500 } } });
});
