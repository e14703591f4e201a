/**
 * Why a call was stopped: the `Error` that stands on `signal.reason`, told apart by its `kind`.
 *
 * Nothing in estop decides by the text of a message, and nothing should: the text is for people.
 */
import { cleanText } from './clean.ts';

/** JSON-RPC code of a cancelled request that is answered (the LSP's code; MCP itself assigns none). */
export const REQUEST_CANCELLED = -32800;
export const REQUEST_CANCELLED_TEXT = 'Request cancelled';

export type StopKind = 'cancelled' | 'deadline' | 'disconnected' | 'shutdown' | 'killed' | 'overloaded';
/** Who cancelled: the client that made the call, the program around the server, or another node. */
export type CancelledBy = 'client' | 'library' | 'bus';

export class StopReason extends Error {
  readonly kind: StopKind;
  /** Only of `cancelled`. */
  readonly by: CancelledBy | undefined;
  /** Only of `deadline`: how long the call was allowed to run, in ms. */
  readonly timeoutMs: number | undefined;

  constructor(kind: StopKind, message: string, details: { by?: CancelledBy; timeoutMs?: number } = {}) {
    // Without a stack: it would show how the stop was noticed, never why, and costs more than all else in a stop.
    const { stackTraceLimit } = Error;
    Reflect.set(Error, 'stackTraceLimit', 0);
    super(message);
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit);
    // What the platform's own signals would say, so that code which sorts by name keeps working.
    this.name = kind === 'deadline' ? 'TimeoutError' : 'AbortError';
    this.kind = kind;
    this.by = details.by;
    this.timeoutMs = details.timeoutMs;
  }
}

/** @param why the caller's own words, from the wire or not; anything but a usable string counts as none */
export function cancelled(by: CancelledBy, why?: unknown): StopReason {
  const text = cleanReason(why);
  return new StopReason('cancelled', text ? `${REQUEST_CANCELLED_TEXT}: ${text}` : REQUEST_CANCELLED_TEXT, { by });
}

export function deadline(what: string, timeoutMs: number): StopReason {
  return new StopReason('deadline', `${what} reached its deadline of ${timeoutMs} ms`, { timeoutMs });
}

export function disconnected(): StopReason {
  return new StopReason('disconnected', 'The client is gone');
}

/** @param message for the one whose call was not run: why, with numbers, and what to do */
export function overloaded(message: string): StopReason {
  return new StopReason('overloaded', message);
}

export function shutdown(): StopReason {
  return new StopReason('shutdown', 'The server is shutting down');
}

const LONGEST_REASON = 200;

/** A reason that came from outside, fit for logs: at most 200 characters, none of them unsafe; a non-string is none. */
export function cleanReason(why: unknown): string | undefined {
  return cleanText(why, LONGEST_REASON);
}
