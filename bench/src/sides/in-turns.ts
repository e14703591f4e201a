/**
 * One client process, and a server in a process of its own of each kind; all of them take turns.
 *
 * Where it can be had (`taskset`, two CPUs), the client keeps to one CPU and every server to another: where the scheduler
 * happens to put two processes that wake each other is worth more than what is measured.
 */
import { spawnSync } from 'node:child_process';
import type { Kind } from '../kinds.ts';
import { turned } from '../turned.ts';
import { answerRounds } from './answering.ts';

const CLIENTS_CPU = 0;
const SERVERS_CPU = 1;

export interface Turns<Server> {
  readonly kinds: readonly Kind[];
  /** @param pin what the server's command begins with */
  connect(kind: Kind, pin: readonly string[]): Promise<Server>;
  /** One server's turn; gives its figure. */
  measure(server: Server, count: number): Promise<number>;
}

export function answerInTurns<Server>({ kinds, connect, measure }: Turns<Server>): void {
  const isPinned = pinsTo(SERVERS_CPU, '-c', 'true') && pinsTo(CLIENTS_CPU, '-cp', String(process.pid));
  if (!isPinned) process.stderr.write('not pinned to CPUs: expect more noise\n');
  const pin = isPinned ? ['taskset', '-c', String(SERVERS_CPU)] : [];
  const servers = new Map<Kind, Server>();
  let rounds = 0;
  answerRounds(async (count) => {
    const figures: Partial<Record<Kind, number>> = {};
    for (const kind of turned(kinds, rounds)) {
      const server = servers.get(kind) ?? (await connect(kind, pin));
      servers.set(kind, server);
      figures[kind] = await measure(server, count);
    }
    rounds += 1;
    return figures;
  });
}

function pinsTo(cpu: number, how: '-c' | '-cp', what: string): boolean {
  return spawnSync('taskset', [how, String(cpu), what]).status === 0;
}
