/** What the tests of the built command share: a run of it with a cookie, and what of that run still lives. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { LogLine } from '../../src/probe/events.ts';
import { readLiveLog, readLog } from './run.ts';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const POLL_MS = 10;
const WITHIN_MS = 20_000;

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
  /** Command lines of what the run left behind. */
  readonly left: readonly string[];
}

export interface CliRun {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Empty before there is a log. */
  lines(): LogLine[];
  /** Resolves when the log has come to that. */
  until(reached: (lines: readonly LogLine[]) => boolean): Promise<void>;
}

/** `estop probe server ...`, in a directory that is gone when `use` has come to its end. */
export async function withCli<T>(
  options: readonly string[],
  command: readonly string[],
  use: (run: CliRun) => Promise<T>,
): Promise<T> {
  const out = mkdtempSync(join(tmpdir(), 'estop-cli-'));
  const cookie = randomUUID();
  const began = performance.now();
  const child = spawn(process.execPath, [MAIN, 'probe', 'server', ...options, '--out', out, '--', ...command], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ESTOP_RUN_COOKIE: cookie },
  });
  const log = join(out, 'latest', 'log.jsonl');
  const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const lines = (): LogLine[] => (existsSync(log) ? (isOver() ? readLog : readLiveLog)(log) : []);
  const finish = async (): Promise<Ended> => {
    const [[code], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]);
    const ms = performance.now() - began;
    return { code, stdout, stderr, ms, left: await leftOf(`ESTOP_RUN_COOKIE=${cookie}`) };
  };
  const ended = finish();
  try {
    return await use({
      child,
      ended,
      lines,
      async until(reached) {
        const end = performance.now() + WITHIN_MS;
        while (!reached(lines())) {
          if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode} before that`);
          if (performance.now() > end) throw new Error(`not within ${WITHIN_MS} ms: ${lines().at(-1)?.event}`);
          await sleep(POLL_MS);
        }
      },
    });
  } finally {
    child.kill('SIGKILL');
    await ended;
    rmSync(out, { recursive: true, force: true });
  }
}

/** Looks again for a moment: an ending that was ordered may take that long. */
async function leftOf(cookie: string): Promise<string[]> {
  const end = performance.now() + 2_000;
  for (;;) {
    const left = marked(cookie);
    if (left.length === 0 || performance.now() > end) return left;
    await sleep(POLL_MS);
  }
}

function marked(cookie: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        // A zombie has no environment left.
        const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
        return environment.includes(cookie) ? [readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')] : [];
      } catch {
        return [];
      }
    });
}
