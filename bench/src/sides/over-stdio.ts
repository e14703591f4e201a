/** A client, and a server of this side's protection in a process of its own. */
import { createInterface, type Interface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { protection } from './protection.ts';

export interface OverStdio {
  readonly client: Client;
  /** What the server says besides the protocol. */
  readonly told: Interface;
}

export async function connectOverStdio(): Promise<OverStdio> {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  const script = fileURLToPath(new URL('./stdio-server.js', import.meta.url));
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [script, protection()],
    stderr: 'pipe',
  });
  const told = createInterface({ input: transport.stderr as Readable });
  await client.connect(transport);
  return { client, told };
}
