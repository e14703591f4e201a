/**
 * The lines of one attempt, and the two moments that order them: the abort, and the first gate opened after it.
 *
 * Order is that of `seq`, in which the harness came to know; times are not compared here.
 */
import type { AttemptEvent, AttemptLine } from '../../events.ts';

export type EventName = AttemptEvent['event'];
export type Line<Name extends EventName> = Extract<AttemptLine, { event: Name }>;

/** The lines of one attempt, in order. */
export type Lines = readonly AttemptLine[];

/** A line, or what was read from one. */
type Placed = Pick<AttemptLine, 'seq'>;

export function inOrder(lines: Lines): Lines {
  return [...lines].sort((a, b) => a.seq - b.seq);
}

/**
 * Without what the harness itself has brought about by ending the subject: after that, only work that starts or
 * commits is news.
 */
export function watched(lines: Lines): Lines {
  const end = first(lines, 'attempt_ended')?.seq ?? NEVER;
  const isNews = ({ event }: AttemptLine): boolean =>
    event === 'worker_started' || event === 'worker_granted' || event === 'worker_committed';
  return lines.filter((line) => line.seq <= end || isNews(line));
}

export function all<Name extends EventName>(lines: Lines, event: Name): Line<Name>[] {
  return lines.filter((line): line is Line<Name> => line.event === event);
}

export function first<Name extends EventName>(lines: Lines, event: Name): Line<Name> | undefined {
  return all(lines, event)[0];
}

export function last<Name extends EventName>(lines: Lines, event: Name): Line<Name> | undefined {
  return all(lines, event).at(-1);
}

const NEVER = Number.POSITIVE_INFINITY;

export function wasCancelled(lines: Lines): boolean {
  return first(lines, 'client_abort') !== undefined;
}

/** Without an abort every line is before it, and none after it. */
export function beforeAbort(lines: Lines): (line: Placed) => boolean {
  const abort = first(lines, 'client_abort')?.seq ?? NEVER;
  return (line) => line.seq < abort;
}

export function afterAbort(lines: Lines): (line: Placed) => boolean {
  const abort = first(lines, 'client_abort')?.seq ?? NEVER;
  return (line) => line.seq > abort;
}

/** The place of the first gate that was opened after the abort: what comes later than that is not in time. */
export function firstGateAfterAbort(lines: Lines): number {
  return all(lines, 'gate_opened').find(afterAbort(lines))?.seq ?? NEVER;
}

/** Before the first gate that was opened after the abort. */
export function inTime(lines: Lines): (line: Placed) => boolean {
  const gate = firstGateAfterAbort(lines);
  return (line) => line.seq < gate;
}
