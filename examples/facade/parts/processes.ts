/** Who looks from outside: the operating system's own list of processes. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

interface Running {
  readonly pid: number;
  /** Its command line. */
  readonly command: string;
}

const LOOK_AGAIN_MS = 20;

/** What runs now and has `mark` in its command line. A process that has ended has none, whoever still waits for it. */
function running(mark: string): Running[] {
  const all = existsSync('/proc/self/cmdline') ? inProc() : inPs();
  return all.filter(({ command }) => command.includes(mark));
}

/** Their programs, by name: `['sh', 'tail', 'tee']`. */
export function programs(mark: string): string[] {
  return running(mark)
    .map(({ command }) => basename(command.split(' ')[0] ?? ''))
    .sort();
}

/** Looks until it is these and no others. */
export async function untilRunning(mark: string, names: readonly string[]): Promise<void> {
  while (programs(mark).join() !== names.join()) await delay(LOOK_AGAIN_MS, undefined, { ref: false });
}

export function killRunning(mark: string): void {
  for (const { pid } of running(mark)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended meanwhile: one end of a pipe follows the other.
    }
  }
}

function inProc(): Running[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      return [{ pid: Number(name), command }];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}

function inPs(): Running[] {
  const lines = execFileSync('ps', ['-A', '-ww', '-o', 'pid=,args='], { encoding: 'utf8' }).split('\n');
  return lines.map((line) => ({ pid: Number.parseInt(line, 10), command: line.trim().replace(/^\d+ /, '') }));
}
