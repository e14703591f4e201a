/** One client process, and a server in a process of its own of each kind; all of them take turns. */
import { createInterface, type Interface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { KINDS, type Kind } from '../kinds.ts';
import { turned } from '../turned.ts';
import { answerRounds } from './answering.ts';

export interface OverStdio {
  readonly client: Client;
  /** What the server says besides the protocol. */
  readonly told: Interface;
}

/** @param measure one server's turn; gives its figure */
export async function answerInTurns(measure: (server: OverStdio, count: number) => Promise<number>): Promise<void> {
  const servers = { bare: await connect('bare'), again: await connect('again'), protected: await connect('protected') };
  const kinds = Object.keys(servers) as Kind[];
  let rounds = 0;
  answerRounds(async (count) => {
    const figures: Partial<Record<Kind, number>> = {};
    for (const kind of turned(kinds, rounds)) figures[kind] = await measure(servers[kind], count);
    rounds += 1;
    return figures;
  });
}

async function connect(kind: Kind): Promise<OverStdio> {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  const script = fileURLToPath(new URL('./stdio-server.js', import.meta.url));
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [script, KINDS[kind]],
    stderr: 'pipe',
  });
  const told = createInterface({ input: transport.stderr as Readable });
  await client.connect(transport);
  return { client, told };
}
