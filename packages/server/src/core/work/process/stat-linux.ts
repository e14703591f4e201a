/**
 * Linux: what `/proc/<pid>/stat` says of a process. Read at once: to be sure of one right before it is signalled.
 */
import { readFileSync } from 'node:fs';

export interface Stat {
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly threads: number;
  /** In ticks since the machine was started. */
  readonly start: string;
}

/** @returns `undefined` for a process that has ended, and where there is no `/proc` */
export function statOf(pid: number): Stat | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return undefined;
  }
}

export function startOf(pid: number): string | undefined {
  return statOf(pid)?.start;
}

/** The fields after the program's name, which stands in brackets and may have any character in it. */
export function parseStat(stat: string): Stat | undefined {
  const bracket = stat.lastIndexOf(')');
  const [state, parent, group, ...others] = bracket < 0 ? [] : stat.slice(bracket + 2).split(' ');
  const start = others[16];
  if (state === undefined || start === undefined) return undefined;
  return { state, parent: Number(parent), group: Number(group), threads: Number(others[14]), start };
}

/** A process whose first thread has ended reads `Z` too, while its other threads run. */
export function isZombie({ state, threads }: Stat): boolean {
  return (state === 'Z' && threads <= 1) || state === 'X';
}
