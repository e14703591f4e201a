/**
 * The form in which a cancel crosses the wire, by transport and era, and which calls were cancelled in it.
 *
 * Modern HTTP: the client closes the response stream of the request. Everywhere else: `notifications/cancelled`, which
 * names the request's id, value and type. A stream that ends by itself is no cancel, and neither is one that the client
 * closes when it has its response.
 */
import { all, first, type Line, type Lines } from './lines.ts';

export interface Cancel {
  readonly seq: number;
  /** Of the request that is cancelled; as it stood on the wire. */
  readonly id: unknown;
}

export function closesStream(lines: Lines): boolean {
  const started = first(lines, 'attempt_started');
  return started?.transport === 'http' && started.era === 'modern';
}

/** Every cancel in the form that this transport and era has. */
export function cancelsOf(lines: Lines): Cancel[] {
  return closesStream(lines) ? closedStreams(lines) : notifications(lines);
}

export function notifications(lines: Lines): Cancel[] {
  const isCancel = (line: Line<'wire'>): boolean =>
    line.direction === 'to-server' && line.method === 'notifications/cancelled';
  return all(lines, 'wire')
    .filter(isCancel)
    .map(({ seq, cancels }) => ({ seq, id: cancels }));
}

function closedStreams(lines: Lines): Cancel[] {
  const responses = all(lines, 'wire').filter((line) => line.direction === 'to-client' && line.kind === 'response');
  return all(lines, 'stream_closed')
    .filter(({ by, wireId }) => by === 'client' && wireId !== undefined)
    .filter((closed) => !responses.some(({ wireId, seq }) => wireId === closed.wireId && seq < closed.seq))
    .map(({ seq, wireId }) => ({ seq, id: wireId }));
}
