/**
 * What the capture and the caller say of an attempt's calls: pending, cancelled, answered.
 *
 * An id is compared with its type, as the protocol does, except where said. Does not say what a server made of a frame.
 */
import type { WireId } from '../../events.ts';
import {
  afterAbort,
  all,
  beforeAbort,
  first,
  firstGateAfterAbort,
  inTime,
  type Line,
  type Lines,
  wasCancelled,
} from './lines.ts';
import { cancelsOf, notifications } from './signal.ts';

export function settledBeforeAbort(lines: Lines): Line<'client_settled'> | undefined {
  return all(lines, 'client_settled').find(beforeAbort(lines));
}

/** Neither the caller nor the wire had an answer when the caller aborted. */
export function pendingAtAbort(lines: Lines): boolean {
  if (!wasCancelled(lines) || settledBeforeAbort(lines)) return false;
  return requestsBeforeAbort(lines).length === 0 || pendingIds(lines).length > 0;
}

function isCallRequest(line: Line<'wire'>): boolean {
  return line.direction === 'to-server' && line.kind === 'request' && line.method === 'tools/call';
}

function isResponseTo(id: WireId): (line: Line<'wire'>) => boolean {
  return (line) => line.direction === 'to-client' && line.kind === 'response' && line.wireId === id;
}

/** The ids of the attempt's calls on the wire; several, when a client tried again. */
function callIds(lines: Lines): WireId[] {
  return all(lines, 'wire')
    .filter(isCallRequest)
    .flatMap(({ wireId }) => (wireId === undefined || wireId === null ? [] : [wireId]));
}

function requestsBeforeAbort(lines: Lines): WireId[] {
  return callIds(lines.filter(beforeAbort(lines)));
}

function pendingIds(lines: Lines): WireId[] {
  const answered = (id: WireId): boolean => all(lines, 'wire').filter(isResponseTo(id)).some(beforeAbort(lines));
  return requestsBeforeAbort(lines).filter((id) => !answered(id));
}

/** The expected form of the cancel, in time: the id of a pending call, value and type. */
export function cancelOnWire(lines: Lines): boolean {
  const pending: unknown[] = pendingIds(lines);
  return cancelsOf(lines)
    .filter(afterAbort(lines))
    .filter(inTime(lines))
    .some(({ id }) => pending.includes(id));
}

/** A cancel of one of the attempt's calls after the caller had its answer; in any form, and of an id of any type. */
export function cancelAfterSettle(lines: Lines): boolean {
  const settled = first(lines, 'client_settled')?.seq ?? Number.POSITIVE_INFINITY;
  const ids = callIds(lines).map(String);
  return [...cancelsOf(lines), ...notifications(lines)].some(
    ({ seq, id }) => seq > settled && ids.includes(String(id)),
  );
}

/** A response or progress of a cancelled call; a second request that nobody cancelled may be answered. */
export function answeredAfterCancel(lines: Lines): boolean {
  return cancelledCalls(lines).some(({ id, at }) => {
    const response = all(lines, 'wire').some((line) => isResponseTo(id)(line) && line.seq > at);
    return response || progressAfter(lines, id, at);
  });
}

function cancelledCalls(lines: Lines): { id: WireId; at: number }[] {
  const cancels = cancelsOf(lines);
  return callIds(lines).flatMap((id) => {
    const cancel = cancels.find((one) => one.id === id);
    return cancel ? [{ id, at: cancel.seq }] : [];
  });
}

/** Progress that was sent before the server knew may cross the cancel: it counts from the signal or the first gate. */
function progressAfter(lines: Lines, id: WireId, cancel: number): boolean {
  const signal = first(lines, 'handler_signal')?.seq ?? Number.POSITIVE_INFINITY;
  const known = Math.max(cancel, Math.min(signal, firstGateAfterAbort(lines)));
  const others: unknown[] = callIds(lines).filter((other) => other !== id);
  return all(lines, 'wire').some(
    (line) =>
      line.direction === 'to-client' &&
      line.method === 'notifications/progress' &&
      line.seq > known &&
      !others.includes(line.progressToken),
  );
}
