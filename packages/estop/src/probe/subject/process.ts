/**
 * The server's process, in a process group of its own: how it starts, what it says beside the protocol, how it ends.
 *
 * `stop` leaves nothing of the group behind. Does not reach a descendant that left the group (`setsid`).
 * Windows has no groups: only the process itself is ended there, and that is not verified.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Era } from '../events.ts';
import type { Log } from '../log.ts';
import { ProbeFailure } from '../result.ts';
import { MAX_TEXT } from './frame.ts';
import { splitLines } from './lines.ts';

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface SubjectProcess {
  readonly pid: number;
  readonly alive: boolean;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Settles when the process has ended, in whichever way. */
  readonly exited: Promise<Exit>;
  /** Settles when all that it wrote was read; later than `exited`, or never where a descendant holds its pipes open. */
  readonly drained: Promise<void>;
  /** The end of what it wrote to stderr, for an error's sentence. */
  readonly stderrTail: string;
  /** Ends stdin and waits `stdinGraceMs`, then SIGTERM, then SIGKILL, and in any case SIGKILL for what is left of the group. */
  stop(stdinGraceMs: number): Promise<void>;
  /** SIGKILL for the group, at once: for a process that is about to exit itself. */
  killNow(): void;
}

export interface ProcessOptions {
  readonly command: readonly string[];
  /** Added to this process's environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly era: Era;
  readonly log: Log;
}

const MAX_LINES = 50;
const STDERR_TAIL = 2_048;
const TERM_GRACE_MS = 500;

/** @throws ProbeFailure when there is no such command */
export async function startProcess({ command, env, era, log }: ProcessOptions): Promise<SubjectProcess> {
  const child = await spawned(command, env, log);
  const pid = child.pid as number;
  log.write('harness', { event: 'subject_started', pid, era, command });

  let stopping: Promise<void> | undefined;
  let expected = false;
  let alive = true;
  let stderrTail = '';

  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => {
      alive = false;
      log.write('harness', { event: 'subject_exited', pid, code, signal, expected });
      resolve({ code, signal });
    });
  });
  const drained = new Promise<void>((resolve) => child.once('close', () => resolve()));

  logLines(child.stderr, (text) => log.write('harness', { event: 'subject_stderr', text }));
  child.stderr.on('data', (chunk: string) => {
    stderrTail = (stderrTail + chunk).slice(-STDERR_TAIL);
  });

  function signalGroup(signal: 'SIGTERM' | 'SIGKILL'): void {
    try {
      if (process.platform === 'win32') child.kill(signal);
      else process.kill(-pid, signal);
    } catch {
      // Nobody is left in the group.
    }
  }

  async function climb(stdinGraceMs: number): Promise<void> {
    child.stdin.end();
    if (!(await within(exited, stdinGraceMs))) {
      signalGroup('SIGTERM');
      if (!(await within(exited, TERM_GRACE_MS))) signalGroup('SIGKILL');
      await exited;
    }
    signalGroup('SIGKILL');
    // A descendant outside the group may still hold the other ends.
    child.stdout.destroy();
    child.stderr.destroy();
  }

  return {
    pid,
    stdin: child.stdin,
    stdout: child.stdout,
    exited,
    drained,
    get alive() {
      return alive;
    },
    get stderrTail() {
      return stderrTail;
    },
    stop(stdinGraceMs) {
      expected = true;
      stopping ??= climb(stdinGraceMs);
      return stopping;
    },
    killNow() {
      expected = true;
      signalGroup('SIGKILL');
    },
  };
}

/** Reads a stream of text to its end, and tells of its first lines. */
export function logLines(stream: Readable, onLine: (text: string) => void): void {
  let told = 0;
  const lines = splitLines(MAX_TEXT, (text) => {
    if (++told <= MAX_LINES) onLine(text);
  });
  stream
    .setEncoding('utf8')
    .on('data', lines.push)
    .on('end', lines.end)
    .on('error', () => {});
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

function spawned(command: readonly string[], env: ProcessOptions['env'], log: Log): Promise<Child> {
  const [file = '', ...args] = command;
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      detached: process.platform !== 'win32',
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    });
    child.once('spawn', () => resolve(child));
    child.on('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'ENOENT' ? 'no such command' : error.message;
      reject(new ProbeFailure(`estop probe: cannot start "${file}": ${why}`, log.file));
    });
  });
}

async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([promise.then(() => true), timedOut]);
  } finally {
    clearTimeout(timer);
  }
}
