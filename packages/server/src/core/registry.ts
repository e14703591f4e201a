/**
 * Which calls are in flight, by scope and id: how a cancel finds its call, and no other.
 *
 * A cancel over the wire is for calls in flight in the caller's own scope: for an unknown or finished id it is ignored
 * and counted, and it never touches a later call. Only a library caller may record one for a call that is to come.
 * Scopes never see each other's rows.
 */
import type { Call } from './call.ts';
import { channels } from './channels.ts';
import type { Clock } from './clock.ts';
import { disconnected, type StopReason } from './reason.ts';
import { RecordedCancels, type RecordedLimits } from './recorded.ts';
import { isValidRequestId, type RequestId } from './request-id.ts';
import { isShared } from './scope.ts';

export type CancelResult =
  /** How many calls it stopped: more than one when a client has reused an id that was still in flight. */
  | { readonly stopped: number }
  /**
   * `unknown`: nothing in flight has this id in this scope. `ambiguous`: several calls have, and the scope may be
   * shared by several clients, so nobody can say whose was meant; none was stopped.
   */
  | { readonly ignored: 'unknown' | 'ambiguous' }
  | { readonly refused: 'invalid_request_id' };

export type RecordResult =
  | { readonly stopped: number }
  /** Nothing live has this key: it waits for the next call that has. */
  | { readonly recorded: true }
  | { readonly refused: 'invalid_request_id' | 'cancellation_limit_reached' };

export interface Cleanup {
  /** Recorded cancels past their time. */
  readonly expired: number;
  /** Rows of calls whose owner is gone. */
  readonly ownerless: number;
}

type Rows = Map<RequestId | Call, Call | Set<Call>>;

export class Registry {
  // Invariant: under their scope, exactly the calls that have not left and whose owner was not found gone; no scope is
  // empty unless it is held. An id in flight twice has a row each, so that the one that ends first takes nothing from
  // the other.
  readonly #scopes = new Map<string, Rows>();
  readonly #held = new Set<string>();
  readonly #recorded: RecordedCancels;
  // Invariant: calls whose row was removed, and that have not left.
  readonly #swept = new Set<Call>();
  #size = 0;
  #ignored = 0;

  /** @throws RangeError for a limit that is none */
  constructor(clock: Clock, limits: RecordedLimits = {}) {
    this.#recorded = new RecordedCancels(clock, limits, (count) => {
      if (channels.evicted.hasSubscribers) channels.evicted.publish({ count, recorded: this.#recorded.size });
    });
  }

  /** Rows of calls. */
  get size(): number {
    return this.#size;
  }

  /** Cancels that wait for a call to come. */
  get recorded(): number {
    return this.#recorded.size;
  }

  /** Cancels from outside that named nothing in flight, nothing for certain, or nothing that can be an id. */
  get ignoredCancels(): number {
    return this.#ignored;
  }

  /** The call is in flight from now on. A cancel that was recorded for it stops it at once. */
  track(call: Call): void {
    let rows = this.#scopes.get(call.scope);
    if (rows === undefined) {
      rows = new Map();
      this.#scopes.set(call.scope, rows);
    }
    const key = keyOf(call);
    const row = rows.get(key);
    if (row === undefined) rows.set(key, call);
    else if (row instanceof Set) row.add(call);
    else rows.set(key, new Set([row, call]));
    this.#size += 1;
    if (this.#recorded.size > 0 && key !== call) {
      const reason = this.#recorded.take(call.scope, key as RequestId);
      if (reason !== undefined) call.stop(reason);
    }
  }

  /** @returns false when it was not there (any more) */
  untrack(call: Call): boolean {
    const rows = this.#scopes.get(call.scope);
    const key = keyOf(call);
    const row = rows?.get(key);
    if (this.#swept.size > 0) this.#swept.delete(call);
    if (rows === undefined || row === undefined) return false;
    if (row instanceof Set) {
      if (!row.delete(call)) return false;
      if (row.size === 0) rows.delete(key);
    } else if (row === call) rows.delete(key);
    else return false;
    if (rows.size === 0 && !this.#held.has(call.scope)) this.#scopes.delete(call.scope);
    this.#size -= 1;
    return true;
  }

  /**
   * Keeps what a scope needs for its calls while there are none, for a connection that makes one after the other.
   *
   * @returns lets go of it; the scope's calls stay
   */
  hold(scope: string): () => void {
    this.#held.add(scope);
    return () => {
      this.#held.delete(scope);
      if (this.#scopes.get(scope)?.size === 0) this.#scopes.delete(scope);
    };
  }

  /**
   * Stops every call in flight with this id in this scope; none, in a scope that clients may share, when there are
   * several. Never throws, whatever the id is.
   */
  cancel(scope: string, id: unknown, reason: StopReason): CancelResult {
    if (!isValidRequestId(id)) {
      this.#ignored += 1;
      return { refused: 'invalid_request_id' };
    }
    const live = this.#live(scope, id);
    const ambiguous = live.length > 1 && isShared(scope);
    if (live.length > 0 && !ambiguous) return { stopped: stopAll(live, reason) };
    this.#ignored += 1;
    return { ignored: ambiguous ? 'ambiguous' : 'unknown' };
  }

  /**
   * A library's own cancel: stops every live call with this key, else waits for the next one that has it, until its
   * time is over. A key that waits already is renewed. Not for requests from the wire.
   */
  record(scope: string, id: unknown, reason: StopReason): RecordResult {
    if (!isValidRequestId(id)) return { refused: 'invalid_request_id' };
    const live = this.#live(scope, id);
    if (live.length > 0) return { stopped: stopAll(live, reason) };
    if (!this.#recorded.record(scope, id, reason)) return { refused: 'cancellation_limit_reached' };
    if (channels.recorded.hasSubscribers) channels.recorded.publish({ requestId: id, scope, reason });
    return { recorded: true };
  }

  /** Takes a recorded cancel back. A live call's own stop cannot be taken back. @returns whether one was waiting */
  clear(scope: string, id: unknown): boolean {
    return isValidRequestId(id) && this.#recorded.clear(scope, id);
  }

  /** Stops every call of a scope, such as that of a connection that is gone. */
  stopScope(scope: string, reason: StopReason): void {
    stopAll(this.calls(scope), reason);
  }

  /** Whether a cancel of this id in this scope would find a call now. */
  isInFlight(scope: string, id: unknown): boolean {
    return this.#live(scope, id).length > 0;
  }

  isCancelled(scope: string, id: unknown): boolean {
    return this.reasonOf(scope, id) !== undefined;
  }

  /** Why the call with this key was stopped, or the next one will be. */
  reasonOf(scope: string, id: unknown): StopReason | undefined {
    const stopped = this.#named(scope, id).find((call) => call.reason !== undefined);
    return stopped?.reason ?? (isValidRequestId(id) ? this.#recorded.peek(scope, id) : undefined);
  }

  /** The calls of one scope, or all; a copy. */
  calls(scope?: string): Call[] {
    if (scope === undefined) return [...this.#scopes.values()].flatMap(callsIn);
    const rows = this.#scopes.get(scope);
    return rows === undefined ? [] : callsIn(rows);
  }

  /** All calls that have not left, also those whose row was removed; a copy. */
  unfinished(): Call[] {
    return [...this.calls(), ...this.#swept];
  }

  /**
   * Removes what is left over: recorded cancels past their time, and rows whose owner is gone. Such a call is stopped
   * first, and counts among the running or abandoned for as long as it goes on; a live namesake keeps its row.
   */
  cleanup(): Cleanup {
    let ownerless = 0;
    for (const call of this.calls()) {
      if (call.owner?.isGone !== true) continue;
      call.stop(disconnected());
      // One that waited has taken itself out as it was stopped.
      if (this.untrack(call)) this.#swept.add(call);
      ownerless += 1;
    }
    return { expired: this.#recorded.expire(), ownerless };
  }

  #named(scope: string, id: unknown): Call[] {
    const row = isValidRequestId(id) ? this.#scopes.get(scope)?.get(id) : undefined;
    return row === undefined ? [] : list(row);
  }

  #live(scope: string, id: unknown): Call[] {
    return this.#named(scope, id).filter(({ state }) => state === 'queued' || state === 'running');
  }
}

function stopAll(calls: readonly Call[], reason: StopReason): number {
  return calls.filter((call) => call.stop(reason)).length;
}

function callsIn(rows: Rows): Call[] {
  return [...rows.values()].flatMap(list);
}

function list(row: Call | Set<Call>): Call[] {
  return row instanceof Set ? [...row] : [row];
}

/** A call whose id no cancel can name has itself for a key: it counts, and nothing finds it. */
function keyOf(call: Call): RequestId | Call {
  return isValidRequestId(call.id) ? call.id : call;
}
