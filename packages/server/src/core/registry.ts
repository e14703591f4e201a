/**
 * Which calls are in flight, by scope and id: how a cancel from the wire finds its call, and no other.
 *
 * A cancel is for calls in flight in the caller's own scope. For an unknown or finished id it is ignored and counted;
 * it never touches a later call. Scopes never see each other's rows.
 */
import type { Call } from './call.ts';
import type { StopReason } from './reason.ts';
import { isValidRequestId, type RequestId } from './request-id.ts';

export type CancelResult =
  /** How many calls it stopped: more than one when a client has reused an id that was still in flight. */
  | { readonly stopped: number }
  /** Nothing in flight has this id in this scope. */
  | { readonly ignored: 'unknown' }
  | { readonly refused: 'invalid_request_id' };

export class Registry {
  // Invariant: holds exactly the calls that have not left, under their scope; no scope is empty.
  // An id in flight twice has a row each, so that the one that ends first takes nothing from the other.
  readonly #scopes = new Map<string, Map<RequestId | Call, Call | Set<Call>>>();
  #size = 0;
  #ignored = 0;

  get size(): number {
    return this.#size;
  }

  /** Cancels from outside that named nothing in flight, or nothing that can be an id. */
  get ignoredCancels(): number {
    return this.#ignored;
  }

  track(call: Call): void {
    const rows = this.#scopes.get(call.scope) ?? new Map<RequestId | Call, Call | Set<Call>>();
    if (rows.size === 0) this.#scopes.set(call.scope, rows);
    const key = keyOf(call);
    const row = rows.get(key);
    if (row instanceof Set) row.add(call);
    else rows.set(key, row === undefined ? call : new Set([row, call]));
    this.#size += 1;
  }

  /** @returns false when it was not there (any more) */
  untrack(call: Call): boolean {
    const rows = this.#scopes.get(call.scope);
    const key = keyOf(call);
    const row = rows?.get(key);
    if (rows === undefined || row === undefined) return false;
    if (row instanceof Set ? !row.delete(call) : row !== call) return false;
    if (row === call || (row instanceof Set && row.size === 0)) rows.delete(key);
    if (rows.size === 0) this.#scopes.delete(call.scope);
    this.#size -= 1;
    return true;
  }

  /** Stops every call in flight with this id in this scope. Never throws, whatever the id is. */
  cancel(scope: string, id: unknown, reason: StopReason): CancelResult {
    if (!isValidRequestId(id)) {
      this.#ignored += 1;
      return { refused: 'invalid_request_id' };
    }
    let stopped = 0;
    for (const call of this.#named(scope, id)) if (call.stop(reason)) stopped += 1;
    if (stopped > 0) return { stopped };
    this.#ignored += 1;
    return { ignored: 'unknown' };
  }

  /** Stops every call of a scope, such as that of a connection that is gone. */
  stopScope(scope: string, reason: StopReason): void {
    for (const call of this.calls(scope)) call.stop(reason);
  }

  /** Whether a cancel of this id in this scope would reach a call now. */
  isInFlight(scope: string, id: unknown): boolean {
    return this.#named(scope, id).some((call) => call.state === 'queued' || call.state === 'running');
  }

  isCancelled(scope: string, id: unknown): boolean {
    return this.#named(scope, id).some((call) => call.isCancelled);
  }

  reasonOf(scope: string, id: unknown): StopReason | undefined {
    return this.#named(scope, id).find((call) => call.reason)?.reason;
  }

  /** The calls of one scope, or all; a copy. */
  calls(scope?: string): Call[] {
    const scopes = scope === undefined ? [...this.#scopes.values()] : [this.#scopes.get(scope)];
    return scopes.flatMap((rows) => (rows === undefined ? [] : [...rows.values()].flatMap(list)));
  }

  #named(scope: string, id: unknown): Call[] {
    const row = isValidRequestId(id) ? this.#scopes.get(scope)?.get(id) : undefined;
    return row === undefined ? [] : list(row);
  }
}

function list(row: Call | Set<Call>): Call[] {
  return row instanceof Set ? [...row] : [row];
}

/** A call whose id no cancel can name has itself for a key: it counts, and nothing finds it. */
function keyOf(call: Call): RequestId | Call {
  return isValidRequestId(call.id) ? call.id : call;
}
