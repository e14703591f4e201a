/** Has never heard of estop: a tool that fetches a URL. `forwards` is sound; without it the signal is dropped. */
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const forwards = process.argv[2] === 'forwards';
serveStdio(() => {
  const server = new McpServer({ name: 'black-box', version: '1.0.0' });
  server.registerTool('fetch_url', { inputSchema: z.object({ url: z.string() }) }, async ({ url }, { mcpReq }) => {
    const response = await fetch(url, forwards ? { signal: mcpReq.signal } : {});
    return { content: [{ type: 'text', text: await response.text() }] };
  });
  return server;
});
