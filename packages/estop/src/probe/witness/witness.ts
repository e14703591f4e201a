/**
 * The harness's side of the witness: starts it, opens its gate, and asks it what became of the work.
 *
 * What the witness says and what stands in the marker are read by two ways and logged apart, so that they can
 * disagree. Does not repair silence: a witness that is dead or does not answer in time makes the state unreadable.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JobState } from '../events.ts';
import type { Log } from '../log.ts';
import { ProbeFailure } from '../result.ts';
import { workCommand } from './command-line.ts';
import type { FromWitness, ToWitness } from './protocol.ts';

type Jobs = readonly { readonly job: number; readonly state: JobState }[];

export interface Witness {
  readonly pid: number;
  /** Where the work of this test comes to. */
  url(testId: string): string;
  /** The command line of a worker of this test: for a shell, or to be split on spaces. */
  command(testId: string): string;
  /** Makes a test id known, before any work can come for it. `hold`: answers wait for `release` after the commit. */
  arm(testId: string, options: { readonly hold: boolean }): void;
  /** Opens `allow_commit`, for good. */
  grant(testId: string): void;
  release(testId: string): void;
  /** The jobs of this test; undefined when they could not be read within `timeoutMs`. Both are logged. */
  readState(testId: string, timeoutMs: number): Promise<Jobs | undefined>;
  /** What the harness itself finds in the marker's file; undefined when it could not be read. Both are logged. */
  readMarker(testId: string): { readonly exists: boolean; readonly lines: number } | undefined;
  close(): Promise<void>;
}

export interface WitnessOptions {
  readonly log: Log;
  /** An existing directory; each test's marker is a file in it. */
  readonly markers: string;
  /** The witness's program; another one is for tests of a witness that lies. */
  readonly module?: string | URL;
}

const READY_MS = 10_000;
const EXIT_MS = 1_000;

export async function startWitness({ log, markers, module }: WitnessOptions): Promise<Witness> {
  const child = fork(module ?? new URL('./process.js', import.meta.url), {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  // Sending has callbacks of its own; what is left has no one to tell: the witness's silence is the fact.
  child.on('error', () => {});
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const base = await ready(child).catch((error: Error) => {
    child.kill('SIGKILL');
    throw new ProbeFailure(`estop probe: the witness did not start: ${error.message}`, log.file);
  });

  const granted = new Set<string>();
  const queries = new Map<number, (jobs: Jobs | undefined) => void>();
  let lastRequest = 0;
  child.on('message', (message: FromWitness) => {
    if (message.type === 'state') queries.get(message.request)?.(message.jobs);
    if (message.type !== 'event') return;
    const { type: _, at, ...entry } = message;
    log.write('witness', entry, at);
  });
  child.once('exit', () => {
    for (const tell of queries.values()) tell(undefined);
  });

  const running = (): boolean => child.exitCode === null && child.signalCode === null;
  const marker = (testId: string): string => join(markers, testId);
  const send = (message: ToWitness): void => {
    // A dead witness is not an exception here; it shows when the state is read.
    if (child.connected) child.send(message, () => {});
  };

  return {
    pid: child.pid as number,
    url: (testId) => base + testId,
    command: (testId) => workCommand(base + testId),
    arm: (testId, { hold }) => send({ type: 'arm', testId, marker: marker(testId), hold }),

    grant(testId) {
      if (granted.has(testId)) return;
      granted.add(testId);
      log.write('harness', { testId, event: 'gate_opened', gate: 'allow_commit' });
      send({ type: 'grant', testId });
    },

    release: (testId) => send({ type: 'release', testId }),

    async readState(testId, timeoutMs) {
      const jobs = running() ? await query(testId, timeoutMs) : undefined;
      if (jobs) {
        log.write('harness', { testId, event: 'worker_state', jobs });
      } else {
        const reason = running() ? `no answer within ${timeoutMs} ms` : 'the witness is not running';
        log.write('harness', { testId, event: 'worker_state_unreadable', reason });
      }
      return jobs;
    },

    readMarker(testId) {
      try {
        const lines = readFileSync(marker(testId), 'utf8').split('\n').filter(Boolean).length;
        return logMarker(testId, { exists: true, lines });
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        if (code === 'ENOENT') return logMarker(testId, { exists: false, lines: 0 });
        log.write('harness', { testId, event: 'marker_unreadable', reason: message });
        return undefined;
      }
    },

    async close() {
      if (child.connected) child.disconnect();
      const timer = setTimeout(() => child.kill('SIGKILL'), EXIT_MS);
      await exited;
      clearTimeout(timer);
    },
  };

  function query(testId: string, timeoutMs: number): Promise<Jobs | undefined> {
    const request = ++lastRequest;
    return new Promise((resolve) => {
      const settle = (jobs: Jobs | undefined): void => {
        clearTimeout(timer);
        queries.delete(request);
        resolve(jobs);
      };
      const timer = setTimeout(() => settle(undefined), timeoutMs);
      queries.set(request, settle);
      send({ type: 'query', request, testId });
    });
  }

  function logMarker<T extends { exists: boolean; lines: number }>(testId: string, read: T): T {
    log.write('harness', { testId, event: 'marker_read', ...read });
    return read;
  }
}

/** Its URL, once it listens. */
function ready(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      child.off('message', onMessage).off('error', onError).off('exit', onExit);
      act();
    };
    const fail = (why: string): void => settle(() => reject(new Error(why)));
    const onMessage = (message: FromWitness): void => {
      if (message.type === 'ready') settle(() => resolve(message.url));
    };
    const onError = (error: Error): void => fail(error.message);
    const onExit = (code: number | null, signal: string | null): void =>
      fail(`it ended with ${signal ?? `code ${code}`}`);
    const timer = setTimeout(() => fail(`it was not ready within ${READY_MS} ms`), READY_MS);
    child.on('message', onMessage).on('error', onError).on('exit', onExit);
  });
}
