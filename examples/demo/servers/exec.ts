/**
 * The bare SDK, and a tool that runs a command line as the manual of Node has it: `exec`, with the call's signal. What
 * that ends is the shell. What the shell has started goes on.
 */
import { exec } from 'node:child_process';
import { promisify } from 'node:util';
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { hang } from './hang.ts';

serveStdio(() => {
  const server = new McpServer({ name: 'exec', version: '1.0.0' });
  server.registerTool('run', { inputSchema: z.object({ command: z.string() }) }, async ({ command }, ctx) => {
    const { stdout } = await promisify(exec)(command, { signal: ctx.mcpReq.signal });
    return { content: [{ type: 'text', text: stdout }] };
  });
  server.registerTool('hang', {}, hang);
  return server;
});
