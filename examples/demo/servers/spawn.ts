/** The same tool behind estop: the command belongs to its call, and ends with it, with all that it has started. */
import { createEstop } from '@estop/server';
import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { hang } from './hang.ts';

const estop = createEstop();

await estop.serveStdio(() => {
  const server = new McpServer({ name: 'spawn', version: '1.0.0' });
  server.registerTool('run', { inputSchema: z.object({ command: z.string() }) }, async ({ command }, ctx) => {
    const { code, stdout } = await estop.call(ctx).spawn('sh', ['-c', command]).output();
    return { isError: code !== 0, content: [{ type: 'text', text: stdout }] };
  });
  server.registerTool('hang', {}, hang);
  return estop.protect(server, { tools: { hang: { timeoutMs: 500 } } });
});
