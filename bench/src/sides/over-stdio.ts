/**
 * One client process, and a server in a process of its own of each kind; all of them take turns.
 *
 * Where it can be had (`taskset`, two CPUs), the client keeps to one CPU and every server to another: where the scheduler
 * happens to put two processes that wake each other is worth more than what is measured.
 */
import { spawnSync } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { KINDS, type Kind } from '../kinds.ts';
import { turned } from '../turned.ts';
import { answerRounds } from './answering.ts';

const CLIENTS_CPU = 0;
const SERVERS_CPU = 1;

export interface OverStdio {
  readonly client: Client;
  /** What the server says besides the protocol. */
  readonly told: Interface;
}

/** @param measure one server's turn; gives its figure */
export async function answerInTurns(measure: (server: OverStdio, count: number) => Promise<number>): Promise<void> {
  const isPinned = pinsTo(SERVERS_CPU, '-c', 'true') && pinsTo(CLIENTS_CPU, '-cp', String(process.pid));
  if (!isPinned) process.stderr.write('not pinned to CPUs: expect more noise\n');
  const connect = (kind: Kind) => connectTo(kind, isPinned ? ['taskset', '-c', String(SERVERS_CPU)] : []);
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

function pinsTo(cpu: number, how: '-c' | '-cp', what: string): boolean {
  return spawnSync('taskset', [how, String(cpu), what]).status === 0;
}

async function connectTo(kind: Kind, pin: readonly string[]): Promise<OverStdio> {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  const script = fileURLToPath(new URL('./stdio-server.js', import.meta.url));
  const [command = process.execPath, ...args] = [...pin, process.execPath, script, KINDS[kind]];
  const transport = new StdioClientTransport({ command, args, stderr: 'pipe' });
  const told = createInterface({ input: transport.stderr as Readable });
  await client.connect(transport);
  return { client, told };
}
