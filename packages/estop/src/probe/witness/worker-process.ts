/**
 * The process that a command's worker says it is, and whether that process is gone.
 *
 * Where there is a `/proc`, a pid is believed only if its process carries the work's URL as an argument, and from then
 * on it is that pid with that start time: another process that gets the pid later is not the worker. A pid of another
 * PID namespace, or one that cannot be looked at, is `unchecked`, and an unchecked process is never gone.
 *
 * Elsewhere the evidence is weaker: the pid is taken on the worker's word, and it is gone when no process has it. There
 * a zombie, and a process that got the pid later, pass for the worker. Does not say who ended it, or why.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface WorkerProcess {
  readonly pid: number;
  /** In the clock ticks of `/proc/<pid>/stat`; absent where there is no `/proc`. */
  readonly startTime?: string;
  /** Why this pid is not known to be the worker's. */
  readonly unchecked?: string;
}

const PROC = '/proc';

/** @param carries  what the worker has as an argument, whole */
export function identify(pid: number, carries: string, proc = PROC): WorkerProcess {
  if (read(proc, process.pid, 'stat').text === undefined) {
    return exists(pid) ? { pid } : { pid, unchecked: `no process ${pid} was found` };
  }
  const stat = statOf(proc, pid);
  const carried = read(proc, pid, 'cmdline').text?.split('\0').includes(carries);
  // The same process before and after its arguments were read, so that they are its own.
  if (stat && carried && statOf(proc, pid)?.startTime === stat.startTime) return { pid, startTime: stat.startTime };
  return { pid, unchecked: `no process ${pid} that carries the work's URL was found in the witness's PID namespace` };
}

/** True only if it has ended: a zombie has, what cannot be looked at has not. */
export function isGone({ pid, startTime, unchecked }: WorkerProcess, proc = PROC): boolean {
  if (unchecked !== undefined) return false;
  if (startTime === undefined) return !exists(pid);
  const stat = statOf(proc, pid);
  if (stat) return stat.startTime !== startTime || stat.ended;
  // Both ways: a process that is hidden in `/proc` still has its pid.
  return read(proc, pid, 'stat').missing && !exists(pid);
}

interface Stat {
  readonly startTime: string;
  readonly ended: boolean;
}

function statOf(proc: string, pid: number): Stat | undefined {
  const { text = '' } = read(proc, pid, 'stat');
  // The program's name stands in brackets, and may itself have any character.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state = '', threads, startTime] = [fields[0], fields[17], fields[19]];
  if (startTime === undefined) return undefined;
  // The first thread of a process can be a zombie while others run on.
  return { startTime, ended: (state === 'Z' || state === 'X') && Number(threads) <= 1 };
}

function read(proc: string, pid: number, file: 'stat' | 'cmdline'): { text?: string; missing: boolean } {
  try {
    return { text: readFileSync(join(proc, String(pid), file), 'utf8'), missing: false };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { missing: code === 'ENOENT' || code === 'ESRCH' };
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
