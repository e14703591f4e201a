/**
 * One who kills, in a process of its own. Argument: its name.
 *
 * Told to start a piece of work, it does; told to kill it, it does, and says when it began to, and when it was that it
 * sent the first SIGKILL; asked what became of it, it says what it says itself.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { KILLERS, type KillerName } from '../killers/all.ts';
import type { Kill, Started } from '../killers/killer.ts';

export type Order =
  | { readonly do: 'start'; readonly work: Started }
  | { readonly do: 'kill' }
  /** Within `waitMs`, or as soon as it has something to say. */
  | { readonly do: 'report'; readonly waitMs: number };

export interface Report {
  /** Both on the clock of `process.hrtime`. */
  readonly askedAt: string;
  /** Absent where there was none by `process.kill`. */
  readonly firstKillAt?: string;
  /** Absent where nothing has been said yet. */
  readonly said?: string;
}

const [, , name] = process.argv;
const killer = await KILLERS[name as KillerName]();
let kill: Kill | undefined;
let askedAt = '';
let firstKillAt: string | undefined;
let said: Promise<string> | undefined;

const send = process.kill;
process.kill = (pid, signal) => {
  if (signal === 'SIGKILL') firstKillAt ??= now();
  return send(pid, signal);
};

process.on('message', async (order: Order) => {
  if (order.do === 'start') kill = killer(order.work);
  else if (order.do === 'kill') {
    firstKillAt = undefined;
    askedAt = now();
    said = kill?.();
  } else process.send?.(await report(order.waitMs));
});
process.on('disconnect', () => process.exit());

async function report(waitMs: number): Promise<Report> {
  const says = await Promise.race([said, sleep(waitMs, undefined, { ref: false })]);
  return { askedAt, ...(firstKillAt !== undefined && { firstKillAt }), ...(says !== undefined && { said: says }) };
}

function now(): string {
  return process.hrtime.bigint().toString();
}
