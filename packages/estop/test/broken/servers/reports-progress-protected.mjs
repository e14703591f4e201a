/** Sound where `reports-progress.mjs` is not: the same deaf handler behind `protect`. */
import { createEstop } from '@estop/server';
import { McpServer } from '@modelcontextprotocol/server';
import { slowMarker, slowMarkerTool } from '../../../dist/kit/index.js';

const estop = createEstop();
await estop.serveStdio(() => {
  const server = new McpServer({ name: 'subject', version: '1.0.0' });
  server.registerTool(slowMarkerTool.name, slowMarkerTool.config, slowMarker({ onSignal: 'ignore', progress: true }));
  return estop.protect(server);
});
