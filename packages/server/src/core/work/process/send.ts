/**
 * Sends a signal to processes that a look has shown, and to nobody else.
 *
 * A group's number is held while it has a member, and a pid's while its process lives; so of each process the start time
 * is read again right before. Between that and the signal there are microseconds in which a number could be reused.
 */
import { execFile } from 'node:child_process';
import type { ProcessRow } from './snapshot.ts';
import { startOf } from './stat-linux.ts';

export const IS_WINDOWS = process.platform === 'win32';
export type KillSignal = 'SIGTERM' | 'SIGKILL';

/** To their groups, with whatever is in them: also what has been started in there since the look. */
export function sendToGroups(rows: readonly ProcessRow[], signal: KillSignal, except?: number): void {
  if (IS_WINDOWS) {
    byTaskkill(
      rows.map(({ pid }) => pid),
      signal,
    );
    return;
  }
  const sent = new Set([except]);
  for (const row of rows) {
    if (sent.has(row.group) || !isStill(row)) continue;
    sent.add(row.group);
    sendToGroup(row.group, signal);
  }
}

/** @param group whose number is known to be held */
export function sendToGroup(group: number, signal: KillSignal): void {
  if (IS_WINDOWS) {
    byTaskkill([group], signal);
    return;
  }
  send(-group, signal);
  // A stopped process hears SIGTERM when it goes on.
  if (signal === 'SIGTERM') send(-group, 'SIGCONT');
}

/** Where there is no `/proc` this is not known, and taken to be so. */
export function isStill({ pid, start }: ProcessRow): boolean {
  return process.platform !== 'linux' || startOf(pid) === start;
}

function send(to: number, signal: NodeJS.Signals): void {
  try {
    process.kill(to, signal);
  } catch {
    // It has ended, or is another user's by now (`sudo`): the next look tells which.
  }
}

/** There is no SIGTERM on Windows: nobody is asked there. */
function byTaskkill(pids: readonly number[], signal: KillSignal): void {
  if (signal === 'SIGTERM' || pids.length === 0) return;
  const named = pids.flatMap((pid) => ['/PID', String(pid)]);
  execFile('taskkill', [...named, '/T', '/F'], { windowsHide: true }, () => {});
}

/** Asked right after the leader has gone: then its number cannot be another group's yet. */
export function groupExists(group: number): boolean {
  if (IS_WINDOWS) return false;
  try {
    process.kill(-group, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
