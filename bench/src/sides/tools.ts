/** The tool of a call that is as cheap as a call can be: what is left is what the SDK and its protection cost. */
import type { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

export const ECHO = { name: 'echo', arguments: { n: 1 } };

export function addEcho(server: McpServer): void {
  server.registerTool('echo', { inputSchema: z.object({ n: z.number() }) }, async ({ n }) => ({
    content: [{ type: 'text', text: String(n) }],
  }));
}
