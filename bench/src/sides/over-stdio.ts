/** A client of the SDK, and a server of one kind behind its stdio. */
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { ALL_KINDS, KINDS, type Kind } from '../kinds.ts';
import { answerInTurns } from './in-turns.ts';
import { Told } from './told.ts';

export interface OverStdio {
  readonly client: Client;
  readonly told: Told;
}

/** @param measure one server's turn; gives its figure */
export function answerOverStdio(measure: (server: OverStdio, count: number) => Promise<number>): void {
  answerInTurns({ kinds: ALL_KINDS, connect, measure });
}

async function connect(kind: Kind, pin: readonly string[]): Promise<OverStdio> {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  const script = fileURLToPath(new URL('./stdio-server.js', import.meta.url));
  const [command = process.execPath, ...args] = [...pin, process.execPath, script, KINDS[kind]];
  const transport = new StdioClientTransport({ command, args, stderr: 'pipe' });
  const told = new Told(transport.stderr as Readable);
  await client.connect(transport);
  return { client, told };
}
