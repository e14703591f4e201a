/**
 * What the handlers of an attempt told the control plane: the signal, the end, and how they ended.
 *
 * A handler's word is the word of the code under test. A black box tells nothing, and nothing is not a good sign.
 */
import type { HandlerEnd } from '../../result.ts';
import { all, beforeAbort, first, inTime, type Lines } from './lines.ts';

/** A handler had the signal before the first gate was opened after the abort. */
export function delivered(lines: Lines): boolean {
  return all(lines, 'handler_signal').some(inTime(lines));
}

/** Every handler of the attempt had ended, by itself or not, before the first gate was opened after the abort. */
export function handlerEndedInTime(lines: Lines): boolean {
  const early = lines.filter(inTime(lines));
  const invocations = invocationsOf(early);
  return invocations.length > 0 && invocations.every((invocation) => hasEnded(early, invocation));
}

/** Every handler that had started before the abort had a signal, or had ended, by then. */
export function handlerTouchedBeforeAbort(lines: Lines): boolean {
  const early = lines.filter(beforeAbort(lines));
  const invocations = invocationsOf(early);
  const touched = (invocation: string): boolean =>
    hasEnded(early, invocation) || has(early, 'handler_signal', invocation) || has(early, 'handler_acted', invocation);
  return invocations.length > 0 && invocations.every(touched);
}

const END_WORST_FIRST: readonly HandlerEnd[] = ['unknown', 'ran on', 'ended-by-runtime', 'acted'];

/** How the handler ended; of several invocations the worst. */
export function handlerEnd(lines: Lines): HandlerEnd {
  const ends = invocationsOf(lines).map((invocation) => endOf(lines, invocation));
  return END_WORST_FIRST.find((end) => ends.includes(end)) ?? 'unknown';
}

function endOf(lines: Lines, invocation: string): HandlerEnd {
  if (has(lines, 'handler_acted', invocation)) return 'acted';
  const exit = all(lines, 'handler_exited').find((line) => line.invocation === invocation);
  if (exit) return exit.how === 'returned' ? 'ran on' : 'unknown';
  // A handler that is still there when the window has passed goes with its process, at the end of the run.
  const windowEnd = first(lines, 'window_ended')?.seq ?? Number.POSITIVE_INFINITY;
  const watched = lines.filter((line) => line.seq < windowEnd);
  return has(watched, 'handler_gone', invocation) ? 'ended-by-runtime' : 'unknown';
}

function invocationsOf(lines: Lines): string[] {
  return [...new Set(lines.flatMap((line) => ('invocation' in line ? [line.invocation] : [])))];
}

function hasEnded(lines: Lines, invocation: string): boolean {
  return has(lines, 'handler_exited', invocation) || has(lines, 'handler_gone', invocation);
}

function has(
  lines: Lines,
  event: 'handler_signal' | 'handler_acted' | 'handler_exited' | 'handler_gone',
  invocation: string,
): boolean {
  return all(lines, event).some((line) => line.invocation === invocation);
}
