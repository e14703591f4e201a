/**
 * macOS, and any other system with `ps`: one subprocess for all processes.
 *
 * No environment is shown there, so no mark is found: what has left its group and lost its parent is not seen. A start
 * time has whole seconds. Not verified on macOS; on Linux its parts are tested.
 */
import { execFile } from 'node:child_process';
import { type ProcessRow, Snapshot } from './snapshot.ts';

/** bytes; some hundred for each process. */
const MOST = 64 * 1024 * 1024;

/** @throws (rejects) where `ps` fails */
export function lookByPs(): Promise<Snapshot> {
  return new Promise((resolve, reject) => {
    const command = ['-A', '-o', 'pid=,ppid=,pgid=,stat=,lstart='];
    execFile('ps', command, { env: { ...process.env, LC_ALL: 'C' }, maxBuffer: MOST }, (error, stdout) => {
      if (error) reject(error);
      else resolve(new Snapshot(stdout.split('\n').flatMap(rowOf)));
    });
  });
}

function rowOf(line: string): ProcessRow[] {
  const [pid, parent, group, state, ...start] = line.trim().split(/\s+/);
  if (state === undefined || state.startsWith('Z')) return [];
  return [{ pid: Number(pid), parent: Number(parent), group: Number(group), start: start.join(' '), cookies: [] }];
}
