/**
 * The store of recorded cancels against a reference that is one array, sorted and filtered: random operations must give
 * the same answers, the same rows, the same victims.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cancelled, type StopReason } from '../../src/core/reason.ts';
import { RecordedCancels } from '../../src/core/recorded.ts';
import type { RequestId } from '../../src/core/request-id.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const TTL_MS = 10;
const SCOPES = ['session:a', 'session:b', 'session:c', 'session:d', '__proto__', ''] as const;
const IDS: readonly RequestId[] = [0, '', 7, '7', 1, '1', -1, '0'];

interface Limits {
  readonly max: number;
  readonly maxPerScope: number;
  readonly ttlMs: number;
}

interface Row {
  readonly scope: string;
  readonly id: RequestId;
  readonly reason: StopReason;
  readonly at: number;
}

/** What the store should do, written for the reader and not for the machine. */
class Reference {
  // Oldest first.
  rows: Row[] = [];
  readonly evictions: number[] = [];
  /** Which change of the number of its rows was the last of each scope. */
  readonly #changed = new Map<string, number>();
  #changes = 0;
  readonly #limits: Limits;
  readonly #clock: VirtualClock;

  constructor(clock: VirtualClock, limits: Limits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  record(scope: string, id: RequestId, reason: StopReason): boolean {
    const row = { scope, id, reason, at: this.#clock.now() };
    const others = this.rows.filter((old) => !same(old, row));
    if (others.length < this.rows.length) {
      this.rows = [...others, row];
      return true;
    }
    if (this.#of(scope) >= this.#limits.maxPerScope) this.expire();
    if (this.#of(scope) >= this.#limits.maxPerScope) return false;
    if (this.rows.length >= this.#limits.max) this.expire();
    if (this.rows.length >= this.#limits.max) {
      const victims = this.#victims(Math.max(1, Math.floor(this.#limits.max / 20)));
      for (const victim of victims) this.#remove(victim);
      this.evictions.push(victims.length);
    }
    this.rows.push(row);
    this.#hasChanged(scope);
    return true;
  }

  take(scope: string, id: RequestId): StopReason | undefined {
    const row = this.rows.find((row) => same(row, { scope, id }) && this.#isLive(row));
    if (row !== undefined) this.#remove(row);
    return row?.reason;
  }

  expire(): number {
    const dead = this.rows.filter((row) => !this.#isLive(row));
    for (const row of dead) this.#remove(row);
    return dead.length;
  }

  live(): Row[] {
    return this.rows.filter((row) => this.#isLive(row));
  }

  /** Largest scope first; of equals the one that has not changed for longest, unless all that come now are equals. */
  #victims(count: number): Row[] {
    const scopes = [...new Set(this.rows.map((row) => row.scope))].sort(
      (a, b) => this.#of(b) - this.#of(a) || (this.#changed.get(a) ?? 0) - (this.#changed.get(b) ?? 0),
    );
    const order: Row[] = [];
    while (scopes.length > 0) {
      const tied = scopes.every((scope) => this.#of(scope) === this.#of(scopes[0] ?? ''));
      const next = tied ? scopes.splice(0) : scopes.splice(0, 1);
      order.push(...this.rows.filter((row) => next.includes(row.scope)));
    }
    return order.slice(0, count);
  }

  #of(scope: string): number {
    return this.rows.filter((row) => row.scope === scope).length;
  }

  #isLive(row: Row): boolean {
    return this.#clock.now() - row.at < this.#limits.ttlMs;
  }

  #remove(row: Row): void {
    this.rows = this.rows.filter((other) => other !== row);
    this.#hasChanged(row.scope);
  }

  #hasChanged(scope: string): void {
    this.#changes += 1;
    this.#changed.set(scope, this.#changes);
  }
}

type Step =
  | { do: 'record' | 'take' | 'peek' | 'clear'; scope: string; id: RequestId }
  | { do: 'fill'; scope: string; count: number }
  | { do: 'visit'; count: number }
  | { do: 'time'; ms: number }
  | { do: 'expire' };

const scope = fc.constantFrom(...SCOPES);
const id = fc.constantFrom(...IDS);
const keyed = (what: 'record' | 'take' | 'peek' | 'clear') => fc.record({ do: fc.constant(what), scope, id });
const step = (mostRows: number): fc.Arbitrary<Step> =>
  fc.oneof(
    { weight: 10, arbitrary: keyed('record') },
    { weight: 2, arbitrary: keyed('take') },
    { weight: 1, arbitrary: keyed('peek') },
    { weight: 2, arbitrary: keyed('clear') },
    // Many new ids in one scope, and one row in each of many new scopes.
    { weight: 4, arbitrary: fc.record({ do: fc.constant('fill' as const), scope, count: fc.nat(mostRows) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('visit' as const), count: fc.nat(mostRows) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('time' as const), ms: fc.constantFrom(1, 4, TTL_MS) }) },
    { weight: 1, arbitrary: fc.constant({ do: 'expire' as const }) },
  );

function sameAsReference(limits: Limits, steps: readonly Step[]): void {
  const clock = new VirtualClock();
  const reference = new Reference(clock, limits);
  const evictions: number[] = [];
  const cancels = new RecordedCancels(clock, limits, (count) => evictions.push(count));
  const seen = new Map<string, { scope: string; id: RequestId }>();
  let next = 100;
  const fresh = (): number => {
    next += 1;
    return next;
  };

  const record = (scope: string, id: RequestId): void => {
    const reason = cancelled('library');
    seen.set(JSON.stringify([scope, id]), { scope, id });
    expect(cancels.record(scope, id, reason)).toBe(reference.record(scope, id, reason));
    check();
  };
  const check = (): void => {
    if (cancels.size !== reference.rows.length) expect(cancels.size).toBe(reference.rows.length);
    if (cancels.size > limits.max) expect(cancels.size).toBeLessThanOrEqual(limits.max);
    const live = reference.live();
    let found = 0;
    for (const row of live) if (cancels.peek(row.scope, row.id) !== row.reason) expect.unreachable(show(row));
    for (const { scope, id } of seen.values()) if (cancels.peek(scope, id) !== undefined) found += 1;
    if (found !== live.length) expect(found).toBe(live.length);
  };

  for (const step of steps) {
    switch (step.do) {
      case 'record':
        record(step.scope, step.id);
        break;
      case 'take':
        expect(cancels.take(step.scope, step.id)).toBe(reference.take(step.scope, step.id));
        break;
      case 'peek':
        expect(cancels.peek(step.scope, step.id)).toBe(reference.live().find((row) => same(row, step))?.reason);
        break;
      case 'clear':
        expect(cancels.clear(step.scope, step.id)).toBe(reference.take(step.scope, step.id) !== undefined);
        break;
      case 'fill':
        for (let n = 0; n < step.count; n += 1) record(step.scope, fresh());
        break;
      case 'visit':
        for (let n = 0; n < step.count; n += 1) record(`visitor:${fresh()}`, 7);
        break;
      case 'time':
        clock.advance(step.ms);
        break;
      case 'expire':
        expect(cancels.expire()).toBe(reference.expire());
    }
    check();
    expect(evictions).toEqual(reference.evictions);
  }
  clock.advance(TTL_MS);
  expect(cancels.expire()).toBe(reference.expire());
  expect(cancels.size).toBe(0);
}

function same(a: { scope: string; id: RequestId }, b: { scope: string; id: RequestId }): boolean {
  return a.scope === b.scope && a.id === b.id;
}

function show({ scope, id, at }: Row): string {
  return `the store has not the reason of ${JSON.stringify({ scope, id, at })}`;
}

test('with small limits, every answer and every row is that of the reference', () => {
  const limits = fc.record({
    max: fc.integer({ min: 1, max: 30 }),
    maxPerScope: fc.integer({ min: 1, max: 6 }),
    ttlMs: fc.constant(TTL_MS),
  });
  fc.assert(fc.property(limits, fc.array(step(4), { maxLength: 60, size: 'max' }), sameAsReference), {
    numRuns: 1_500,
  });
});

test('with batches of several rows, every victim is that of the reference', () => {
  const limits = fc.record({
    max: fc.constantFrom(40, 61, 100, 140),
    maxPerScope: fc.constantFrom(6, 15, 40, Infinity),
    ttlMs: fc.constant(TTL_MS),
  });
  fc.assert(fc.property(limits, fc.array(step(30), { maxLength: 40, size: 'max' }), sameAsReference), { numRuns: 120 });
});
