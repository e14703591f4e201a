/**
 * What a process holds, and what is left of it: processes, threads, sockets, timers, listeners.
 *
 * `whatIsLeft` names everything that is there now and was not before, in sentences for a person. Finds child processes
 * by their parents and, when those are gone, by the cookie in their environment; only where there is a `/proc`. Does
 * not see a process that cleared its environment and lost its parent, nor a socket or a timer that was unref'd.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';

export interface Holdings {
  /** pid -> command line, of all that descends from this process or carries the cookie. */
  readonly processes: ReadonlyMap<number, string>;
  /** Kind -> how many keep the event loop alive. */
  readonly resources: ReadonlyMap<string, number>;
  /** Threads that were started and have not ended; a thread is no resource in Node's list. */
  readonly threads: number;
  /** Event of `process` -> how many listen. */
  readonly listeners: ReadonlyMap<string, number>;
}

/** Kinds that somebody has to close; what ends by itself (a file being read, a name being looked up) is not one. */
const KINDS = /^(TCP|TLS|UDP|Pipe|Process|Timeout|Immediate|MessagePort|FSEvent|StatWatcher|Signal)/;
const EVENTS = [
  'uncaughtException',
  'unhandledRejection',
  'SIGHUP',
  'SIGINT',
  'SIGTERM',
  'exit',
  'beforeExit',
  'warning',
];
const POLL_MS = 20;

const threads = new Set<Worker>();
process.on('worker', (worker) => threads.add(worker));

/** @param cookie  `NAME=value`, as it stands in the environment of what this process starts */
export function holdings(cookie: string): Holdings {
  const kinds = process.getActiveResourcesInfo().filter((kind) => KINDS.test(kind));
  return {
    processes: processesOf(cookie),
    resources: new Map(kinds.map((kind) => [kind, kinds.filter((other) => other === kind).length])),
    threads: [...threads].filter(({ threadId }) => threadId !== -1).length,
    listeners: new Map(EVENTS.map((event) => [event, process.listenerCount(event)])),
  };
}

/** One sentence for each thing that is left; empty when nothing is. */
export function whatIsLeft(before: Holdings, now: Holdings): string[] {
  const processes = [...now.processes].filter(([pid]) => !before.processes.has(pid));
  const resources = [...now.resources].filter(([kind, count]) => count > (before.resources.get(kind) ?? 0));
  const listeners = [...now.listeners].filter(([event, count]) => count !== before.listeners.get(event));
  return [
    ...processes.map(([pid, command]) => `process ${pid} still runs: ${command}`),
    ...resources.map(([kind, count]) => `${kind}: ${count} active, ${before.resources.get(kind) ?? 0} before`),
    ...(now.threads > before.threads ? [`threads: ${now.threads} run, ${before.threads} before`] : []),
    ...listeners.map(
      ([event, count]) => `process.on('${event}'): ${count} listeners, ${before.listeners.get(event)} before`,
    ),
  ];
}

/** Looks again until nothing is left or the time is over; gives back what is left then. */
export async function leftAfter(before: Holdings, cookie: string, withinMs: number): Promise<string[]> {
  const end = performance.now() + withinMs;
  for (;;) {
    const left = whatIsLeft(before, holdings(cookie));
    if (left.length === 0 || performance.now() >= end) return left;
    await sleep(POLL_MS);
  }
}

interface Entry {
  readonly pid: number;
  readonly parent: number;
  readonly marked: boolean;
}

function processesOf(cookie: string): Map<number, string> {
  const all = running(cookie);
  const ours = new Set([process.pid]);
  // A parent may come after its child in the listing: go over it until nothing is added.
  for (let before = 0; before !== ours.size; ) {
    before = ours.size;
    for (const { pid, parent, marked } of all) if (marked || ours.has(parent)) ours.add(pid);
  }
  ours.delete(process.pid);
  return new Map([...ours].map((pid) => [pid, read(pid, 'cmdline').replaceAll('\0', ' ').trim()]));
}

/** All processes that run; one that has ended and was not waited for yet (a zombie) does not. */
function running(cookie: string): Entry[] {
  let names: string[] = [];
  try {
    names = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    // No /proc here: processes are then seen only as the resources that hold them.
  }
  return names.flatMap((name) => {
    const pid = Number(name);
    const [state = 'Z', parent = '0'] = afterName(read(pid, 'stat'));
    if (state === 'Z' || state === 'X') return [];
    return [{ pid, parent: Number(parent), marked: read(pid, 'environ').split('\0').includes(cookie) }];
  });
}

/** The fields of `stat` after the program's name, which stands in brackets and may itself have any character. */
function afterName(stat: string): string[] {
  const bracket = stat.lastIndexOf(')');
  return bracket < 0 ? [] : stat.slice(bracket + 2).split(' ');
}

/** Empty for a process that has ended meanwhile, or that belongs to somebody else. */
function read(pid: number, file: 'cmdline' | 'environ' | 'stat'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
