/**
 * The witness: the process that work comes to, and that alone decides what became of it.
 *
 * Each request to `<url><testId>` is a job, `waiting -> granted | stopped`; so is one of a command, which names its pid
 * behind that. A job stops when its connection closes while it waits; a command, only when its process is gone as well;
 * it commits (marker, then answer) when it is granted. Both are decided here, in one thread, so that one job is never
 * both. It must never report a stop that did not happen:
 *
 * - It sends no byte before the commit: an early header lets a collector close the request of a handler that waits.
 * - Every start counts. A grant is for good, so a late retry commits, and is seen.
 * - A close after the grant is `worker_closed_after_grant`, whatever the marker says.
 * - A command that lost its connection and lives on is no stop, and cannot be granted: it waits until it is gone.
 *
 * Does not know why a connection closed. A client that only ends its sending side is read as gone: TCP tells the two
 * apart by writing alone.
 */
import { randomBytes } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JobState, WorkerEvent } from '../events.ts';
import type { FromWitness, ToWitness } from './protocol.ts';
import { identify, isGone, type WorkerProcess } from './worker-process.ts';

interface Job {
  readonly job: number;
  readonly res: ServerResponse;
  /** Of a command. */
  readonly worker?: WorkerProcess;
  // Invariant: true only of a command that waits, or has stopped.
  disconnected: boolean;
  // Invariant: leaves `waiting` once, for `granted` or `stopped`; `committed` iff granted and its marker is written.
  state: JobState;
}

interface Test {
  readonly testId: string;
  readonly marker: string;
  readonly hold: boolean;
  readonly jobs: Job[];
  granted: boolean;
  released: boolean;
}

/** A process ends its connections a moment before it is gone. */
const FIRST_LOOK_MS = 2;
const LAST_LOOK_MS = 100;

const path = `/jobs/${randomBytes(24).toString('hex')}/`;
const tests = new Map<string, Test>();

// Ctrl-C reaches the whole process group; it must not blind the run before it is over. The harness ends this process.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
process.on('disconnect', () => process.exit(0));
// It may have been killed while this module was loaded: that is not told any more.
if (!process.connected) process.exit(0);
process.on('message', (message: ToWitness) => {
  if (message.type === 'arm') return arm(message);
  const test = tests.get(message.testId);
  if (message.type === 'query') {
    const jobs = test?.jobs.map(({ job, state }) => ({ job, state })) ?? [];
    tell({ type: 'state', request: message.request, testId: message.testId, jobs });
  } else if (test && message.type === 'grant') {
    test.granted = true;
    for (const job of test.jobs) if (job.state === 'waiting' && !job.disconnected) commit(test, job);
  } else if (test && message.type === 'release') {
    test.released = true;
    for (const job of test.jobs) if (job.state === 'committed') answer(job);
  }
});

// No timeout of the server's may close a job: that would read as a stop.
const server = createServer({ requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0 }, take);
// Without this, Node answers `Expect: 100-continue` by itself: a byte before the commit.
server.on('checkContinue', take);
let url = '';
server.listen(0, '127.0.0.1', () => {
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  tell({ type: 'ready', url });
});

function arm({ testId, marker, hold }: Extract<ToWitness, { type: 'arm' }>): void {
  if (tests.has(testId)) return;
  tests.set(testId, { testId, marker, hold, jobs: [], granted: false, released: false });
}

function take(req: IncomingMessage, res: ServerResponse): void {
  req.resume();
  const target = (req.url ?? '').split('?')[0] ?? '';
  const [testId = '', pid] = target.startsWith(path)
    ? target.slice(path.length).split(/\/command\/([1-9]\d{0,9})$/)
    : [];
  const test = tests.get(testId);
  if (!test) return void res.writeHead(404).end();

  const worker = pid === undefined ? undefined : identify(Number(pid), url + testId);
  const job: Job = { job: test.jobs.length + 1, res, ...(worker && { worker }), disconnected: false, state: 'waiting' };
  test.jobs.push(job);
  report(test, { event: 'worker_started', job: job.job, ...(worker ? { by: 'command', ...worker } : { by: 'url' }) });
  res.once('close', () => closed(test, job));
  if (test.granted) commit(test, job);
}

function commit(test: Test, job: Job): void {
  job.state = 'granted';
  report(test, { event: 'worker_granted', job: job.job });
  try {
    appendFileSync(test.marker, `job ${job.job}\n`);
  } catch (error) {
    job.res.writeHead(500).end(`the marker could not be written: ${(error as Error).message}\n`);
    return;
  }
  job.state = 'committed';
  report(test, { event: 'worker_committed', job: job.job });
  if (!test.hold || test.released) answer(job);
}

function answer({ res }: Job): void {
  if (!res.headersSent && !res.destroyed) res.writeHead(200, { 'content-type': 'text/plain' }).end('committed');
}

function closed(test: Test, job: Job): void {
  if (job.res.writableFinished) return;
  if (job.state !== 'waiting') return void report(test, { event: 'worker_closed_after_grant', job: job.job });
  if (!job.worker) return void stop(test, job);
  job.disconnected = true;
  report(test, { event: 'worker_disconnected', job: job.job, pid: job.worker.pid });
  stopWhenGone(test, job, job.worker, FIRST_LOOK_MS);
}

/** Looks on to the end of the run: a process that is gone late has stopped late. */
function stopWhenGone(test: Test, job: Job, worker: WorkerProcess, waitMs: number): void {
  if (isGone(worker)) stop(test, job);
  else if (worker.unchecked === undefined)
    setTimeout(() => stopWhenGone(test, job, worker, Math.min(2 * waitMs, LAST_LOOK_MS)), waitMs);
}

function stop(test: Test, job: Job): void {
  job.state = 'stopped';
  report(test, { event: 'worker_stopped', job: job.job });
}

function report({ testId }: Test, event: WorkerEvent): void {
  tell({ type: 'event', testId, at: String(process.hrtime.bigint()), ...event });
}

function tell(message: FromWitness): void {
  // The callback takes the error of a channel that is just closing; `disconnect` then ends this process.
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}
