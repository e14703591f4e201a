/**
 * What was read at the end of an attempt: the marker, the worker's state, the server; and whether they fit together.
 *
 * A state that was not read is a clause of its own, never a default.
 */
import type { JobState } from '../../events.ts';
import { all, first, type Line, type Lines, last } from './lines.ts';
import { jobHas, jobsOf } from './work.ts';

/** It existed at one reading at least. */
export function markerFound(lines: Lines): boolean {
  return all(lines, 'marker_read').some((line) => line.exists);
}

/** The last reading found no marker, and none before it did. */
export function markerAbsent(lines: Lines): boolean {
  return last(lines, 'marker_read') !== undefined && !markerFound(lines);
}

/** A commit that the witness told, or a marker that was found. */
export function effectHappened(lines: Lines): boolean {
  return all(lines, 'worker_committed').length > 0 || markerFound(lines);
}

function stateRead(lines: Lines): readonly { readonly job: number; readonly state: JobState }[] | undefined {
  return last(lines, 'worker_state')?.jobs;
}

/** What the verdict needs and could not read; clauses, to be joined. */
export function unreadable(lines: Lines): string[] {
  const clauses: string[] = [];
  const marker = lines.findLast((line) => line.event === 'marker_read' || line.event === 'marker_unreadable');
  if (!marker) clauses.push('the marker was never read');
  if (marker?.event === 'marker_unreadable') clauses.push(`the marker could not be read (${marker.reason})`);
  const state = lines.findLast((line) => line.event === 'worker_state' || line.event === 'worker_state_unreadable');
  if (!state) clauses.push("the worker's state was never read");
  if (state?.event === 'worker_state_unreadable')
    clauses.push(`the worker's state could not be read (${state.reason})`);
  if (!first(lines, 'server_checked')) clauses.push('the server was not looked at after the attempt');
  return clauses;
}

/** Jobs, of those given, whose end is not known: clauses. A committed job has ended. */
export function openJobs(lines: Lines, jobs: readonly number[]): string[] {
  const state = stateRead(lines);
  return jobs.flatMap((job) => {
    if (jobHas(lines, 'worker_committed', job)) return [];
    if (!jobHas(lines, 'worker_stopped', job)) return [neverEnded(lines, job)];
    const reads = state?.find((entry) => entry.job === job)?.state;
    return state && reads !== 'stopped' ? [`job ${job} did not read stopped when the worker's state was read`] : [];
  });
}

function neverEnded(lines: Lines, job: number): string {
  const lost = all(lines, 'worker_disconnected').find((line) => line.job === job);
  if (!lost) return `job ${job} was seen neither to stop nor to commit`;
  const start = all(lines, 'worker_started').find((line) => line.job === job);
  const unchecked = start?.by === 'command' ? start.unchecked : undefined;
  return unchecked === undefined
    ? `the connection of job ${job} ended, and its process ${lost.pid} was not seen to end`
    : `the connection of job ${job} ended, and whether its process did cannot be checked (${unchecked})`;
}

/** Where the marker, the witness's events and its state contradict each other: clauses. */
export function disagreements(lines: Lines): string[] {
  const clauses: string[] = [];
  const marker = last(lines, 'marker_read');
  const commits = all(lines, 'worker_committed');
  if (markerFound(lines) && commits.length === 0) clauses.push('a marker exists, and the witness tells of no commit');
  if (marker && !marker.exists && commits.some((line) => line.seq < marker.seq)) {
    clauses.push('the witness tells of a commit, and there is no marker');
  }
  for (const job of jobsOf(lines)) {
    const stopped = jobHas(lines, 'worker_stopped', job);
    const granted = jobHas(lines, 'worker_granted', job) || jobHas(lines, 'worker_committed', job);
    if (stopped && granted) clauses.push(`the witness tells of job ${job} that it stopped, and that it was let go on`);
  }
  for (const read of all(lines, 'worker_state')) clauses.push(...contradictions(lines, read));
  return clauses;
}

/** Invariant of the witness: its events and its answers travel in one order, so a state never lags behind an event. */
function contradictions(lines: Lines, read: Line<'worker_state'>): string[] {
  const before = lines.filter((line) => line.seq < read.seq);
  const known = [...new Set([...jobsOf(before), ...read.jobs.map(({ job }) => job)])];
  return known.flatMap((job) => {
    const state = read.jobs.find((entry) => entry.job === job)?.state ?? 'absent';
    const told = toldState(before, job);
    return told === state ? [] : [`the state of job ${job} reads ${state}, and by its events it was ${told}`];
  });
}

function toldState(lines: Lines, job: number): JobState | 'absent' {
  if (jobHas(lines, 'worker_committed', job)) return 'committed';
  if (jobHas(lines, 'worker_stopped', job)) return 'stopped';
  if (jobHas(lines, 'worker_granted', job)) return 'granted';
  return jobHas(lines, 'worker_started', job) ? 'waiting' : 'absent';
}

export function serverDied(lines: Lines): boolean {
  return all(lines, 'server_checked').some((line) => !line.alive || !line.samePid || !line.answers);
}
