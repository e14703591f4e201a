/**
 * The witness: the process that work comes to, and that alone decides what became of it.
 *
 * Each request to `<url><testId>` is a job, `waiting -> granted | stopped`. A job stops when its connection closes
 * while it waits; it commits (marker, then answer) when it is granted. Both are decided here, in one thread, so that
 * one job is never both. It must never report a stop that did not happen:
 *
 * - It sends no byte before the commit: an early header lets a collector close the request of a handler that waits.
 * - Every start counts. A grant is for good, so a late retry commits, and is seen.
 * - A close after the grant is `worker_closed_after_grant`, whatever the marker says.
 *
 * Does not know why a connection closed. A client that only ends its sending side is read as gone: TCP tells the two
 * apart by writing alone.
 */
import { randomBytes } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JobState } from '../events.ts';
import type { FromWitness, ToWitness, WitnessEventName } from './protocol.ts';

interface Job {
  readonly job: number;
  readonly res: ServerResponse;
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

const path = `/jobs/${randomBytes(24).toString('hex')}/`;
const tests = new Map<string, Test>();

// Ctrl-C reaches the whole process group; it must not blind the run before it is over. The harness ends this process.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
process.on('disconnect', () => process.exit(0));
process.on('message', (message: ToWitness) => {
  if (message.type === 'arm') return arm(message);
  const test = tests.get(message.testId);
  if (message.type === 'query') {
    const jobs = test?.jobs.map(({ job, state }) => ({ job, state })) ?? [];
    tell({ type: 'state', request: message.request, testId: message.testId, jobs });
  } else if (test && message.type === 'grant') {
    test.granted = true;
    for (const job of test.jobs) if (job.state === 'waiting') commit(test, job);
  } else if (test && message.type === 'release') {
    test.released = true;
    for (const job of test.jobs) if (job.state === 'committed') answer(job);
  }
});

// No timeout of the server's may close a job: that would read as a stop.
const server = createServer({ requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0 }, take);
// Without this, Node answers `Expect: 100-continue` by itself: a byte before the commit.
server.on('checkContinue', take);
server.listen(0, '127.0.0.1', () => {
  tell({ type: 'ready', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}` });
});

function arm({ testId, marker, hold }: Extract<ToWitness, { type: 'arm' }>): void {
  if (tests.has(testId)) return;
  tests.set(testId, { testId, marker, hold, jobs: [], granted: false, released: false });
}

function take(req: IncomingMessage, res: ServerResponse): void {
  req.resume();
  const target = (req.url ?? '').split('?')[0] ?? '';
  const test = target.startsWith(path) ? tests.get(target.slice(path.length)) : undefined;
  if (!test) return void res.writeHead(404).end();

  const job: Job = { job: test.jobs.length + 1, res, state: 'waiting' };
  test.jobs.push(job);
  report(test, job, 'worker_started');
  res.once('close', () => closed(test, job));
  if (test.granted) commit(test, job);
}

function commit(test: Test, job: Job): void {
  job.state = 'granted';
  report(test, job, 'worker_granted');
  try {
    appendFileSync(test.marker, `job ${job.job}\n`);
  } catch (error) {
    job.res.writeHead(500).end(`the marker could not be written: ${(error as Error).message}\n`);
    return;
  }
  job.state = 'committed';
  report(test, job, 'worker_committed');
  if (!test.hold || test.released) answer(job);
}

function answer({ res }: Job): void {
  if (!res.headersSent && !res.destroyed) res.writeHead(200, { 'content-type': 'text/plain' }).end('committed');
}

function closed(test: Test, job: Job): void {
  if (job.res.writableFinished) return;
  if (job.state === 'waiting') {
    job.state = 'stopped';
    report(test, job, 'worker_stopped');
  } else {
    report(test, job, 'worker_closed_after_grant');
  }
}

function report({ testId }: Test, { job }: Job, event: WitnessEventName): void {
  tell({ type: 'event', event, testId, job, at: String(process.hrtime.bigint()) });
}

function tell(message: FromWitness): void {
  // The callback takes the error of a channel that is just closing; `disconnect` then ends this process.
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}
