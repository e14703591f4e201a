/**
 * The subject: the server's process, in a process group of its own, and the probe's transport on its pipes.
 *
 * Each frame is shown to the capture before it goes on, so that the log has it before anything can follow from it.
 * `stop` leaves nothing of the group behind. Does not reach a descendant that left the group (`setsid`).
 * Windows has no groups: only the process itself is ended there, and that is not verified.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Era } from '../events.ts';
import type { Log } from '../log.ts';
import { ProbeFailure } from '../result.ts';
import type { Capture } from './capture.ts';

/** The shape of an MCP SDK v2 `Transport`. */
export interface SubjectTransport {
  start(): Promise<void>;
  send(message: object): Promise<void>;
  close(): Promise<void>;
  onmessage?: ((message: never) => void) | undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface Subject {
  readonly pid: number;
  readonly alive: boolean;
  /** Settles when the process has ended, in whichever way. */
  readonly exited: Promise<Exit>;
  /** Settles when all that it wrote was read; later than `exited`, or never where a descendant holds its pipes open. */
  readonly drained: Promise<void>;
  readonly transport: SubjectTransport;
  /** The client closed the connection before the server did: an exit after that may be what a server owes to that. */
  readonly hungUpOn: boolean;
  /** It has written a frame. */
  readonly spoke: boolean;
  /** The first thing on its stdout that was no frame, for an error's sentence. */
  readonly garbage: string | undefined;
  /** The end of what it wrote to stderr, for an error's sentence. */
  readonly stderrTail: string;
  /** Ends stdin, then SIGTERM, then SIGKILL, and in any case SIGKILL for what is left of the group. */
  stop(): Promise<void>;
  /** SIGKILL for the group, at once: for a process that is about to exit itself. */
  killNow(): void;
}

export interface SubjectOptions {
  readonly command: readonly string[];
  /** Added to this process's environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly era: Era;
  readonly log: Log;
  readonly capture: Capture;
}

const MAX_FRAME = 10 * 1024 * 1024;
const MAX_TEXT = 200;
const MAX_STDERR_LINES = 50;
const STDERR_TAIL = 2_048;
const STDIN_GRACE_MS = 1_000;
const TERM_GRACE_MS = 500;

export async function startSubject({ command, env, era, log, capture }: SubjectOptions): Promise<Subject> {
  const child = await spawned(command, env, log);
  const pid = child.pid as number;
  log.write('harness', { event: 'subject_started', pid, era, command });

  let stopping: Promise<void> | undefined;
  let expected = false;
  let alive = true;
  let hungUpOn = false;
  let spoke = false;
  let garbage: string | undefined;
  let stderrTail = '';
  let stderrLines = 0;

  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => {
      alive = false;
      log.write('harness', { event: 'subject_exited', pid, code, signal, expected });
      resolve({ code, signal });
    });
  });

  const drained = new Promise<void>((resolve) => child.once('close', () => resolve()));

  const transport = pipeTransport(child, {
    onFrame(direction, frame) {
      spoke ||= direction === 'to-client';
      capture.seen(direction, frame);
    },
    onHangUp() {
      hungUpOn = true;
    },
    onGarbage(text) {
      garbage ??= text;
      log.write('wire', { event: 'not_json', text });
    },
  });

  const stderr = splitLines(MAX_TEXT, (text) => {
    if (++stderrLines <= MAX_STDERR_LINES) log.write('harness', { event: 'subject_stderr', text });
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderrTail = (stderrTail + chunk).slice(-STDERR_TAIL);
    stderr.push(chunk);
  });
  child.stderr.on('end', stderr.end).on('error', () => {});

  function signalGroup(signal: 'SIGTERM' | 'SIGKILL'): void {
    try {
      if (process.platform === 'win32') child.kill(signal);
      else process.kill(-pid, signal);
    } catch {
      // Nobody is left in the group.
    }
  }

  async function climb(): Promise<void> {
    child.stdin.end();
    if (!(await within(exited, STDIN_GRACE_MS))) {
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
    exited,
    drained,
    transport,
    get alive() {
      return alive;
    },
    get hungUpOn() {
      return hungUpOn;
    },
    get spoke() {
      return spoke;
    },
    get garbage() {
      return garbage;
    },
    get stderrTail() {
      return stderrTail;
    },
    stop() {
      expected = true;
      stopping ??= climb();
      return stopping;
    },
    killNow() {
      expected = true;
      signalGroup('SIGKILL');
    },
  };
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

function spawned(command: readonly string[], env: SubjectOptions['env'], log: Log): Promise<Child> {
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

interface Ears {
  /** Told of each frame before it goes on. */
  onFrame(direction: 'to-server' | 'to-client', frame: object): void;
  /** The client closes, and the server had not. */
  onHangUp(): void;
  onGarbage(text: string): void;
}

/** Frames are lines of JSON. A line that is none goes to `onGarbage`, and the connection lives on. */
function pipeTransport(child: Child, { onFrame, onHangUp, onGarbage }: Ears): SubjectTransport {
  let closed = false;
  const transport: SubjectTransport = {
    async start() {
      child.stdout.resume();
    },
    // Does not wait for the pipe to drain: a subject that reads nothing must not hold the harness.
    async send(message) {
      if (!child.stdin.writable) throw new Error('the stdin of the subject is closed');
      onFrame('to-server', message);
      child.stdin.write(`${JSON.stringify(message)}\n`);
    },
    async close() {
      if (!closed) onHangUp();
      child.stdin.end();
      onClose();
    },
  };

  const onClose = (): void => {
    if (closed) return;
    closed = true;
    transport.onclose?.();
  };
  const onError = (error: Error): void => transport.onerror?.(error);

  const stdout = splitLines(MAX_FRAME, (line) => {
    const frame = parseFrame(line);
    if (frame === undefined) return onGarbage(line.slice(0, MAX_TEXT));
    onFrame('to-client', frame);
    try {
      if (!closed) transport.onmessage?.(frame as never);
    } catch (error) {
      onError(error as Error);
    }
  });
  child.stdin.on('error', onError);
  child.stdout
    .setEncoding('utf8')
    .on('data', stdout.push)
    .on('end', stdout.end)
    .on('close', onClose)
    .on('error', onError);
  // Nothing is read before the client listens.
  child.stdout.pause();
  return transport;
}

function parseFrame(line: string): object | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Lines out of chunks, without blank ones. Of a line longer than `max` the rest is dropped. */
function splitLines(max: number, onLine: (line: string) => void): { push(chunk: string): void; end(): void } {
  let pending = '';
  const add = (text: string): void => {
    if (pending.length < max) pending += text.slice(0, max - pending.length);
  };
  const flush = (): void => {
    const line = pending;
    pending = '';
    if (/\S/.test(line)) onLine(line);
  };
  return {
    push(chunk) {
      const parts = chunk.split('\n');
      for (const [n, part] of parts.entries()) {
        if (n > 0) flush();
        add(part);
      }
    },
    end: flush,
  };
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
