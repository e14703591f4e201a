/**
 * Whose call: the prefixed string by which rows are kept apart.
 *
 * A scope is derived from what a request shows, and nothing is remembered: the same words make the same scope on every
 * node. Does not authenticate: a session id or an address is as good as what the caller of `scopeOf` did to check it.
 */
import { createHash } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { canonicalAddress, prefix64 } from './client-address.ts';

/** What a request shows of its caller; from headers and operators' functions, so of any type. */
export interface Caller {
  /** As MCP has it: visible ASCII. Anything else is no session id. */
  readonly sessionId?: unknown;
  /** From the operator's own function; a non-string or an empty one is none. */
  readonly principal?: unknown;
  /** Given only where scopes by address were turned on, which they are not by default: clients behind one NAT share it. */
  readonly address?: unknown;
}

let connections = 0;

/** A new private scope: of a stdio connection, an in-process one, or a request that shows nothing of its caller. */
export function connectionScope(): string {
  connections += 1;
  return `connection:${connections}`;
}

/**
 * The most specific scope that the request gives: session, then principal, then address. Never throws.
 *
 * A session belongs to the principal that opened it: with another principal its id is another scope.
 *
 * @returns `session:<id>`, `session:<id> <principal>`, `principal:<id>`, `ip:<bucket>`; `undefined` when there is none
 */
export function scopeOf({ sessionId, principal, address }: Caller): string | undefined {
  const who = typeof principal === 'string' && principal !== '' ? bounded(principal) : undefined;
  if (typeof sessionId === 'string' && VISIBLE_ASCII.test(sessionId)) {
    // Invariant: no session id has a space, so the first one ends it.
    return `session:${bounded(sessionId)}${who === undefined ? '' : ` ${who}`}`;
  }
  if (who !== undefined) return `principal:${who}`;
  const canonical = canonicalAddress(address);
  if (canonical === undefined) return undefined;
  return `ip:${isIPv4(canonical) ? canonical : prefix64(canonical)}`;
}

/**
 * Whether several clients may live in a scope. There an id names no call for certain, because each SDK client's first
 * call has the same one.
 */
export function isShared(scope: string): boolean {
  return !scope.startsWith('session:') && !scope.startsWith('connection:');
}

const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

const LONGEST_BYTES = 256;
const DIGEST = 'sha256-';

/**
 * The text itself, or its digest when it is too long, or has half a character, which no UTF-8 can carry.
 *
 * Invariant: two texts never come out as one. So a text that looks like a digest stands as its own digest; and the
 * digest is of UTF-16, in which two halves differ.
 */
function bounded(text: string): string {
  const fits = text.length <= LONGEST_BYTES && Buffer.byteLength(text) <= LONGEST_BYTES;
  if (fits && !text.startsWith(DIGEST) && !/\p{Surrogate}/u.test(text)) return text;
  return `${DIGEST}${createHash('sha256').update(Buffer.from(text, 'utf16le')).digest('hex')}`;
}
