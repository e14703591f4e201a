/**
 * JSON-RPC ids as they come from the wire: which can name a call, and that their type is part of them.
 */

/** `7` and `"7"` are two ids; `0` and `""` are ids. */
export type RequestId = string | number;

const LONGEST_ID_BYTES = 256;

/** Integers, and strings of at most 256 bytes in UTF-8. Everything else cannot be cancelled over the wire. */
export function isValidRequestId(id: unknown): id is RequestId {
  if (typeof id === 'number') return Number.isInteger(id);
  if (typeof id !== 'string' || id.length > LONGEST_ID_BYTES) return false;
  // No UTF-16 unit takes more than three bytes, so short ids need no count.
  return id.length * 3 <= LONGEST_ID_BYTES || Buffer.byteLength(id) <= LONGEST_ID_BYTES;
}
