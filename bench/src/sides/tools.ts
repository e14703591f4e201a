/**
 * The tools of the sides.
 *
 * `echo` is as cheap as a call can be: what is left is what the SDK and its protection cost. `wait` tells on stderr, which
 * is no part of the protocol, when it has started and when its signal fired, in ns of the clock that all processes of a
 * machine share.
 */
import { writeSync } from 'node:fs';
import type { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

export const ECHO = { name: 'echo', arguments: { n: 1 } };
export const WAIT = { name: 'wait' };

export const echoInput = { n: z.number() };

export async function echo({ n }: { n: number }): Promise<{ content: { type: 'text'; text: string }[] }> {
  return { content: [{ type: 'text', text: String(n) }] };
}

export async function wait(signal: AbortSignal): Promise<{ content: [] }> {
  const fired = await new Promise<bigint>((resolve) => {
    signal.addEventListener('abort', () => resolve(process.hrtime.bigint()), { once: true });
    writeSync(process.stderr.fd, 'started\n');
  });
  writeSync(process.stderr.fd, `fired ${fired}\n`);
  return { content: [] };
}

export function addEcho(server: McpServer): void {
  server.registerTool(ECHO.name, { inputSchema: z.object(echoInput) }, echo);
}

export function addWait(server: McpServer): void {
  server.registerTool(WAIT.name, {}, ({ mcpReq }) => wait(mcpReq.signal));
}
