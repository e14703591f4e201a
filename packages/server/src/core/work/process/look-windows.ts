/**
 * Windows: one PowerShell for all processes.
 *
 * There are no groups there, and no environment is shown: a child is known by its parent, which stays in its row when
 * that has ended. Not verified.
 */
import { execFile } from 'node:child_process';
import { type ProcessRow, Snapshot } from './snapshot.ts';

const QUERY =
  'Get-CimInstance Win32_Process | ForEach-Object { "$($_.ProcessId) $($_.ParentProcessId) $($_.CreationDate.Ticks)" }';
const MOST = 64 * 1024 * 1024;

/** @throws (rejects) where PowerShell fails */
export function lookOnWindows(): Promise<Snapshot> {
  return new Promise((resolve, reject) => {
    const options = { maxBuffer: MOST, windowsHide: true };
    execFile('powershell.exe', ['-NoProfile', '-NonInteractive', '-Command', QUERY], options, (error, stdout) => {
      if (error) reject(error);
      else resolve(new Snapshot(withoutStrangers(stdout.split('\n').flatMap(rowOf))));
    });
  });
}

/** A parent that is younger than its child is another process, which has been given the number. */
function withoutStrangers(rows: readonly ProcessRow[]): ProcessRow[] {
  const starts = new Map(rows.map(({ pid, start }) => [pid, BigInt(start)]));
  return rows.map((row) => ((starts.get(row.parent) ?? 0n) > BigInt(row.start) ? { ...row, parent: 0 } : row));
}

function rowOf(line: string): ProcessRow[] {
  const [pid, parent, start] = line.trim().split(' ');
  if (start === undefined) return [];
  // Each is a group of its own.
  return [{ pid: Number(pid), parent: Number(parent), group: Number(pid), start, cookies: [] }];
}
