/**
 * Processes by a mark in their arguments, as `/proc` shows them to anybody: what estop itself knows has no part in it.
 *
 * The mark is a length of time that nobody else sleeps for: whatever ends up as `sleep MARK` keeps it, however it got
 * there. A zombie runs nothing, and is not counted.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 10;
/** Generous: it ends a test that is broken, and decides nothing in one that works. */
const BOUND_MS = 20_000;

let made = 0;
const own = `${BigInt(`0x${randomBytes(6).toString('hex')}`)}`.padStart(15, '0');

/** Seconds, about three days of them. */
export function newMark(): string {
  made += 1;
  return `259200.${own}${String(made).padStart(6, '0')}`;
}

/** The pids of all that run with this mark, or with any that this process has made. */
export function marked(mark = own): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name) || !read(name, 'cmdline').includes(mark) || isOver(name)) return [];
    return [Number(name)];
  });
}

/** Those of them that are what they were meant to become, and not a shell on the way. */
export function sleepers(mark: string): number[] {
  return marked(mark).filter((pid) => read(String(pid), 'cmdline').startsWith('sleep\0'));
}

/** Resolves when so many sleep. @throws when they never do */
export async function sleeping(mark: string, count: number): Promise<number[]> {
  return until(
    () => sleepers(mark),
    (pids) => pids.length === count,
    (pids) => `${count} processes sleep with ${mark}, not ${pids.length}`,
  );
}

/** Resolves when none of these marks runs. @throws with the command lines of those that still do */
export async function gone(...marks: readonly string[]): Promise<void> {
  await until(
    () => (marks.length === 0 ? marked() : marks.flatMap((mark) => marked(mark))),
    (pids) => pids.length === 0,
    (pids) => `nothing is left, but: ${pids.map(described).join('; ')}`,
  );
}

/** For the end of a test: what survived must not outlive it. */
export async function killMarked(): Promise<void> {
  for (const pid of marked()) signal(pid);
  await gone();
}

export function signal(pid: number, name: NodeJS.Signals = 'SIGKILL'): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** The reapers that a process has; in the moment in which one has been killed, none. */
export function reapersOf(parent: number): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name) || parentOf(name) !== parent || isOver(name)) return [];
    return /reaper\.sh/.test(read(name, 'cmdline')) ? [Number(name)] : [];
  });
}

/** Resolves when that process has ended. Of one that was seen a moment ago: numbers are used again, though not soon. */
export async function over(pid: number): Promise<void> {
  await until(
    () => isOver(String(pid)),
    (isIt) => isIt,
    () => `${described(pid)} has ended`,
  );
}

/** Where the control groups of the server are that has started that process; `undefined` when it is in none. */
export function cgroupHomeOf(pid: number): string | undefined {
  const path = /^0::(.*\/estop-[^/]+)\//m.exec(read(String(pid), 'cgroup'))?.[1];
  const mounts = read('self', 'mountinfo').split('\n');
  const mount = mounts.find((line) => line.includes(' - cgroup2 '))?.split(' ')[4];
  return path === undefined || mount === undefined ? undefined : join(mount, path);
}

/** Asks again until the answer is right. @throws with what should have been */
export async function until<T>(ask: () => T, holds: (answer: T) => boolean, what: (answer: T) => string): Promise<T> {
  const end = performance.now() + BOUND_MS;
  for (;;) {
    const answer = ask();
    if (holds(answer)) return answer;
    if (performance.now() > end) throw new Error(`not within ${BOUND_MS} ms: ${what(answer)}`);
    await sleep(POLL_MS);
  }
}

function described(pid: number): string {
  return `${pid} (${read(String(pid), 'cmdline').replaceAll('\0', ' ').trim()})`;
}

function isOver(pid: string): boolean {
  const [state = 'X'] = afterName(pid);
  return state === 'Z' || state === 'X';
}

function parentOf(pid: string): number {
  return Number(afterName(pid)[1]);
}

function afterName(pid: string): string[] {
  const stat = read(pid, 'stat');
  const bracket = stat.lastIndexOf(')');
  return bracket < 0 ? [] : stat.slice(bracket + 2).split(' ');
}

function read(pid: string, file: 'cgroup' | 'cmdline' | 'mountinfo' | 'stat'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
