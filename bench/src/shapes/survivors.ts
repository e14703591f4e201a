/**
 * What still runs of a shape, seen from outside: every process with its marker in the command line.
 *
 * Looks at `/proc` alone, and not at parents, groups or environments: it does not see what the one that kills sees, so
 * it can contradict it. A process that has ended and was not waited for (a zombie) does not run. An empty answer is
 * given only after two looks without a process that was just then becoming another program.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';

export interface Seen {
  readonly pid: number;
  /** In ticks since the machine was started: with the pid, it is this process and no later one. */
  readonly startTime: number;
  /** As in `/proc/PID/stat`. */
  readonly state: string;
  readonly group: number;
  readonly session: number;
  /** Of the program, as its command line gives it. */
  readonly name: string;
  readonly command: string;
}

/** A process of somebody else may have no command line for good. */
const MOST_LOOKS = 20;

/** @returns what runs, by pid; zombies are left out */
export function survivors(marker: string): Seen[] {
  for (let looks = 0, empty = 0; empty < 2 && looks < MOST_LOOKS; looks += 1) {
    const { seen, isCertain } = look(marker);
    if (seen.length > 0) return seen;
    if (isCertain) empty += 1;
  }
  return [];
}

/** Those of `seen` that still run; does not look for others, and is quick. */
export function stillRunning(seen: readonly Seen[]): Seen[] {
  return seen.filter(({ pid, startTime }) => {
    const stat = statOf(pid);
    return stat !== undefined && stat.startTime === startTime && !hasEnded(stat);
  });
}

/**
 * Kills all that is seen, again and again until nothing is: for whoever started a shape, when all else is done.
 *
 * @throws when something of it cannot be killed
 */
export function killAll(marker: string): void {
  const end = performance.now() + 10_000;
  for (let seen = survivors(marker); seen.length > 0; seen = survivors(marker)) {
    if (performance.now() > end) throw new Error(`cannot be killed: ${seen.map(({ command }) => command).join('; ')}`);
    for (const { pid } of seen) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It was quicker.
      }
    }
  }
}

function look(marker: string): { seen: Seen[]; isCertain: boolean } {
  const seen: Seen[] = [];
  let isCertain = true;
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!(pid > 0)) continue;
    const words = read(pid, 'cmdline').split('\0').slice(0, -1);
    if (words.length > 0 && !words.some((word) => word.includes(marker))) continue;
    const stat = statOf(pid);
    if (stat === undefined || hasEnded(stat)) continue;
    // Between two programs a process has no command line for a moment; the kernel's own never have one.
    if (words.length === 0) isCertain &&= stat.isKernels;
    else seen.push({ pid, ...stat, name: basename(words[0] ?? ''), command: words.join(' ') });
  }
  return { seen, isCertain };
}

interface Stat extends Pick<Seen, 'startTime' | 'state' | 'group' | 'session'> {
  readonly isKernels: boolean;
}

const KERNEL_THREAD = 0x0020_0000;

function hasEnded({ state }: Pick<Stat, 'state'>): boolean {
  return state === 'Z' || state === 'X';
}

/** `undefined` for a process that is gone. */
function statOf(pid: number): Stat | undefined {
  const stat = read(pid, 'stat');
  // The name stands in brackets, and may itself have any character.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields.length < 20) return undefined;
  return {
    state: fields[0] ?? '',
    group: Number(fields[2]),
    session: Number(fields[3]),
    startTime: Number(fields[19]),
    isKernels: (Number(fields[6]) & KERNEL_THREAD) !== 0,
  };
}

function read(pid: number, file: 'cmdline' | 'stat'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
