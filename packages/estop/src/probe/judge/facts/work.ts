/**
 * What became of the work, by the witness's events: every job of the test id counts, however late it came.
 *
 * Does not read the marker's place in the order as a time of the effect: only the witness knows that.
 */
import {
  afterAbort,
  all,
  beforeAbort,
  type EventName,
  first,
  inTime,
  type Line,
  type Lines,
  wasCancelled,
} from './lines.ts';

type JobEvent =
  | 'worker_started'
  | 'worker_disconnected'
  | 'worker_stopped'
  | 'worker_granted'
  | 'worker_committed'
  | 'worker_closed_after_grant';
const JOB_EVENTS: readonly EventName[] = [
  'worker_started',
  'worker_disconnected',
  'worker_stopped',
  'worker_granted',
  'worker_committed',
  'worker_closed_after_grant',
] satisfies JobEvent[];

/** Every job of which the witness told anything, in order. */
export function jobsOf(lines: Lines): number[] {
  const told = lines.filter((line): line is Line<JobEvent> => JOB_EVENTS.includes(line.event));
  return [...new Set(told.map(({ job }) => job))].sort((a, b) => a - b);
}

export function jobsStartedBeforeAbort(lines: Lines): number[] {
  return jobsOf(lines.filter(beforeAbort(lines)));
}

export function jobsStartedAfterAbort(lines: Lines): number[] {
  const early = jobsStartedBeforeAbort(lines);
  return wasCancelled(lines) ? jobsOf(lines).filter((job) => !early.includes(job)) : [];
}

export function jobHas(lines: Lines, event: JobEvent, job: number): boolean {
  return all(lines, event).some((line) => line.job === job);
}

/** By place or by time: a stop that is older than the abort was not made by it. */
export function stoppedBeforeAbort(lines: Lines): boolean {
  return happenedBeforeAbort(lines, 'worker_stopped');
}

/** A command that has lost its connection may be gone a while before it is seen to be. */
export function disconnectedBeforeAbort(lines: Lines): boolean {
  return happenedBeforeAbort(lines, 'worker_disconnected');
}

function happenedBeforeAbort(lines: Lines, event: 'worker_stopped' | 'worker_disconnected'): boolean {
  const abort = first(lines, 'client_abort');
  if (!abort) return false;
  return all(lines, event).some((line) => line.seq < abort.seq || BigInt(line.at) < BigInt(abort.at));
}

/** The witness saw a job stop after the abort, and before any gate was opened. */
export function stoppedInTime(lines: Lines): boolean {
  return all(lines, 'worker_stopped').filter(afterAbort(lines)).some(inTime(lines));
}

export function stoppedBeforeItsGate(lines: Lines): boolean {
  const gate = all(lines, 'gate_opened').find((line) => line.gate === 'allow_commit')?.seq ?? Number.POSITIVE_INFINITY;
  return all(lines, 'worker_stopped').some((line) => line.seq < gate);
}

/** ms from the abort to the first stop after it, with one decimal. */
export function stopMs(lines: Lines): number | undefined {
  const abort = first(lines, 'client_abort');
  const stop = all(lines, 'worker_stopped').find(afterAbort(lines));
  if (!abort || !stop) return undefined;
  return Math.round(Number(BigInt(stop.at) - BigInt(abort.at)) / 1e5) / 10;
}

/** ms for which the first job was held: from its start to its stop, or until its gate was opened; with one decimal. */
export function heldMs(lines: Lines): number | undefined {
  const start = first(lines, 'worker_started');
  const stop = all(lines, 'worker_stopped').find(({ job }) => job === start?.job);
  const end = stop ?? all(lines, 'gate_opened').find(({ gate }) => gate === 'allow_commit');
  if (!start || !end) return undefined;
  return Math.max(0, Math.round(Number(BigInt(end.at) - BigInt(start.at)) / 1e5) / 10);
}
