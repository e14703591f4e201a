// SDK v2: clients of both eras, on http://127.0.0.1:3000
import { createServer } from 'node:http';
import { createEstop } from '@estop/server';
import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

const handler = createEstop({ timeoutMs: 20_000 }).nodeHandler(() => {
  const server = new McpServer({ name: 'web', version: '1.0.0' });
  server.registerTool('page', { inputSchema: z.object({ url: z.url() }) }, async ({ url }, ctx) => {
    const page = await fetch(url, { signal: ctx.mcpReq.signal });
    return { content: [{ type: 'text', text: await page.text() }] };
  });
  return server;
});

const http = createServer(handler).listen(Number(process.argv[2] ?? 3000), '127.0.0.1');
process.once('SIGTERM', () => handler.close().then(() => http.close()));
