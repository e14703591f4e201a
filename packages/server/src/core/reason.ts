/**
 * Why a call was stopped: the `Error` that stands on `signal.reason`, told apart by its `kind`.
 *
 * Nothing in estop decides by the text of a message, and nothing should: the text is for people.
 */

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
    super(message);
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

const LONGEST_REASON = 200;
/** Controls, format characters (bidirectional, zero-width, tags), separators of lines, halves of characters. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** A reason that came from outside, fit for logs: at most 200 characters, none of them unsafe; a non-string is none. */
export function cleanReason(why: unknown): string | undefined {
  if (typeof why !== 'string') return undefined;
  // Cut before the clean-up: its cost is bounded by our limit, not by the sender.
  const text = why.slice(0, LONGEST_REASON * 4).replace(UNSAFE, '');
  return text === '' ? undefined : [...text].slice(0, LONGEST_REASON).join('');
}
