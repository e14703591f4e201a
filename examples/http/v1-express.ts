// SDK v1 with Express: clients of the legacy era, on http://127.0.0.1:3000/mcp
import { createEstop } from '@estop/server';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';

const handler = createEstop({ timeoutMs: 20_000 }).nodeHandler(() => {
  const server = new McpServer({ name: 'web', version: '1.0.0' });
  server.registerTool('page', { inputSchema: { url: z.url() } }, async ({ url }, { signal }) => {
    const page = await fetch(url, { signal });
    return { content: [{ type: 'text', text: await page.text() }] };
  });
  return server;
});

const app = createMcpExpressApp();
app.all('/mcp', handler);
const http = app.listen(Number(process.argv[2] ?? 3000), '127.0.0.1');
process.once('SIGTERM', () => handler.close().then(() => http.close()));
