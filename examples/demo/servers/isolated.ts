/** The same deaf functions, each call in a thread of its own: what does not listen is ended. */
import { createEstop } from '@estop/server';
import { McpServer } from '@modelcontextprotocol/server';
import { slowMarkerTool } from 'estop/kit';

const estop = createEstop();
const module = new URL('./deaf-tools.js', import.meta.url);

await estop.serveStdio(() => {
  const server = new McpServer({ name: 'isolated', version: '1.0.0' });
  const slow = estop.isolated({ kind: 'thread', module, export: 'slow' });
  server.registerTool(slowMarkerTool.name, slowMarkerTool.config, slow);
  server.registerTool('hang', {}, estop.isolated({ kind: 'thread', module, export: 'hang' }));
  return estop.protect(server, { tools: { hang: { timeoutMs: 500 } } });
});
