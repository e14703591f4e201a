/**
 * Cancels that a library caller recorded for a call that has not come yet, each until it is taken or its TTL is over.
 *
 * Bounded twice: first per scope, which refuses, then in all, which makes room and never refuses. Who makes room is
 * chosen so that a scope that fills the store loses its own rows before a smaller scope loses any.
 * Does not fire anything, and does not promise that a row stays until its TTL: one that makes room is lost.
 */
import { checkCount, show } from './checks.ts';
import type { Clock } from './clock.ts';
import type { StopReason } from './reason.ts';
import type { RequestId } from './request-id.ts';

export interface RecordedLimits {
  /** Rows of one scope; the next one is refused. 256 if not given; `Infinity`: no quota. */
  readonly maxPerScope?: number;
  /** Rows in all; the next one evicts a twentieth of them, and is never refused. 10 000 if not given; `Infinity`: no cap. */
  readonly max?: number;
  /** How long a row waits for its call, in ms. 300 000 if not given; `Infinity`: for ever. */
  readonly ttlMs?: number;
}

/** The part of the cap that is evicted at once. */
const BATCHES = 20;

export class RecordedCancels {
  readonly #clock: Clock;
  readonly #maxPerScope: number;
  readonly #max: number;
  readonly #ttlMs: number;
  readonly #evicted: (count: number) => void;

  // Invariant: holds exactly the scopes that have a row.
  readonly #scopes = new Map<string, Scope>();
  // Invariant: all rows, by age; as one TTL holds for all, this is also the order in which they expire.
  readonly #byAge = new Link<Row>();
  // Invariant: a scope with n rows is in ring n, behind those that came to n before it; the last ring is not empty,
  // so it is that of the largest scopes. Ring 0 only holds the place: a scope without rows is gone.
  readonly #bySize: Link<Scope>[] = [new Link()];
  // Invariant: never above `#max`.
  #size = 0;

  /**
   * @param evicted hears how many rows made room for a new one, when that one is in; not of those that expired
   * @throws RangeError for a limit that is none
   */
  constructor(clock: Clock, limits: RecordedLimits, evicted: (count: number) => void) {
    this.#clock = clock;
    const { maxPerScope = 256, max = 10_000, ttlMs = 300_000 } = limits;
    this.#maxPerScope = checkCount(maxPerScope, 'recorded.maxPerScope', 1);
    this.#max = checkCount(max, 'recorded.max', 1);
    this.#ttlMs = checkTtl(ttlMs);
    this.#evicted = evicted;
  }

  /** Rows held, with those past their TTL that nothing has removed yet. */
  get size(): number {
    return this.#size;
  }

  /**
   * Lets a cancel wait for the next call with this key. A key that waits already is renewed: it has the newest reason
   * and the newest age, counts once, and is never refused.
   *
   * @returns false when the scope is at its quota (`cancellation_limit_reached`); then nothing has changed
   */
  record(scope: string, id: RequestId, reason: StopReason): boolean {
    const known = this.#scopes.get(scope)?.rows.get(id);
    if (known !== undefined) {
      this.#renew(known, reason);
      return true;
    }
    if (this.#isFull(scope)) this.expire();
    if (this.#isFull(scope)) return false;
    if (this.#size >= this.#max) this.expire();
    const evicted = this.#size >= this.#max ? this.#evict(Math.max(1, Math.floor(this.#max / BATCHES))) : 0;
    this.#add(scope, id, reason);
    if (evicted > 0) this.#evicted(evicted);
    return true;
  }

  /** The reason that waits for this key, which waits no longer; `undefined` if none does, or past its TTL. */
  take(scope: string, id: RequestId): StopReason | undefined {
    const row = this.#live(scope, id);
    if (row !== undefined) this.#remove(row);
    return row?.reason;
  }

  /** The reason that waits for this key, and stays. */
  peek(scope: string, id: RequestId): StopReason | undefined {
    return this.#live(scope, id)?.reason;
  }

  /** @returns whether one was waiting; one past its TTL was not */
  clear(scope: string, id: RequestId): boolean {
    return this.take(scope, id) !== undefined;
  }

  /** Removes all that are past their TTL, in time that depends on nothing else. @returns how many */
  expire(): number {
    const now = this.#clock.now();
    let removed = 0;
    for (let row = this.#byAge.first; row !== undefined && row.endsAt <= now; row = this.#byAge.first) {
      this.#remove(row);
      removed += 1;
    }
    return removed;
  }

  #isFull(scope: string): boolean {
    return (this.#scopes.get(scope)?.rows.size ?? 0) >= this.#maxPerScope;
  }

  #live(scope: string, id: RequestId): Row | undefined {
    const row = this.#scopes.get(scope)?.rows.get(id);
    return row !== undefined && row.endsAt > this.#clock.now() ? row : undefined;
  }

  #renew(row: Row, reason: StopReason): void {
    row.reason = reason;
    row.endsAt = this.#clock.now() + this.#ttlMs;
    row.inAll.moveTo(this.#byAge);
    row.inScope.moveTo(row.scope.byAge);
  }

  /**
   * Empties the largest scope, oldest row first, then the next largest, and so on, until `count` rows are gone.
   * Of equally large scopes, the one whose number of rows has not changed for longest is first; but once all that are
   * left are equally large, the oldest rows go, whoever owns them.
   *
   * Each step removes a row and looks at nothing else, so that the cost is that of the victims.
   */
  #evict(count: number): number {
    let left = count;
    while (left > 0) {
      const tied = (this.#bySize.length - 1) * this.#scopes.size === this.#size;
      const victims = tied ? this.#byAge : this.#bySize.at(-1)?.first?.byAge;
      for (let row = victims?.first; row !== undefined && left > 0; row = victims?.first) {
        this.#remove(row);
        left -= 1;
      }
    }
    return count;
  }

  #add(name: string, id: RequestId, reason: StopReason): void {
    let scope = this.#scopes.get(name);
    if (scope === undefined) {
      scope = new Scope(name);
      this.#scopes.set(name, scope);
    }
    const row = new Row(scope, id, reason, this.#clock.now() + this.#ttlMs);
    scope.rows.set(id, row);
    row.inAll.moveTo(this.#byAge);
    row.inScope.moveTo(scope.byAge);
    this.#size += 1;
    this.#place(scope);
  }

  #remove(row: Row): void {
    const { scope } = row;
    scope.rows.delete(row.id);
    row.inAll.leave();
    row.inScope.leave();
    this.#size -= 1;
    this.#place(scope);
  }

  // A scope grows and shrinks by one row, so it never leaves more than one ring at the end empty, and never skips one.
  #place(scope: Scope): void {
    const { size } = scope.rows;
    scope.inSize.leave();
    if (size === 0) {
      this.#scopes.delete(scope.name);
    } else {
      let ring = this.#bySize[size];
      if (ring === undefined) {
        ring = new Link();
        this.#bySize.push(ring);
      }
      scope.inSize.moveTo(ring);
    }
    if (this.#bySize.length > 1 && this.#bySize.at(-1)?.first === undefined) this.#bySize.pop();
  }
}

class Scope {
  readonly name: string;
  readonly rows = new Map<RequestId, Row>();
  readonly byAge = new Link<Row>();
  readonly inSize: Link<Scope> = new Link<Scope>(this);

  constructor(name: string) {
    this.name = name;
  }
}

class Row {
  readonly scope: Scope;
  readonly id: RequestId;
  reason: StopReason;
  /** The first moment at which it waits no longer. */
  endsAt: number;
  readonly inAll: Link<Row> = new Link<Row>(this);
  readonly inScope: Link<Row> = new Link<Row>(this);

  constructor(scope: Scope, id: RequestId, reason: StopReason, endsAt: number) {
    this.scope = scope;
    this.id = id;
    this.reason = reason;
    this.endsAt = endsAt;
  }
}

/** A place in a ring; one without a value is the ring itself. */
class Link<T> {
  readonly #value: T | undefined;
  #before: Link<T> = this;
  #after: Link<T> = this;

  constructor(value?: T) {
    this.#value = value;
  }

  /** Of a ring: the value that joined first; `undefined` when it is empty. */
  get first(): T | undefined {
    return this.#after.#value;
  }

  /** To the end of a ring, out of the one where it was. */
  moveTo(ring: Link<T>): void {
    this.leave();
    this.#before = ring.#before;
    this.#after = ring;
    ring.#before.#after = this;
    ring.#before = this;
  }

  leave(): void {
    this.#before.#after = this.#after;
    this.#after.#before = this.#before;
    this.#before = this;
    this.#after = this;
  }
}

function checkTtl(value: unknown): number {
  if (typeof value === 'number' && value > 0) return value;
  throw new RangeError(`estop: recorded.ttlMs must be a number of milliseconds > 0, got ${show(value)}`);
}
