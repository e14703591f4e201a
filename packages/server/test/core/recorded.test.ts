import { describe, expect, test } from 'vitest';
import { cancelled } from '../../src/core/reason.ts';
import { RecordedCancels, type RecordedLimits } from '../../src/core/recorded.ts';
import type { RequestId } from '../../src/core/request-id.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const HERE = 'session:a';
const THERE = 'session:b';
const TTL_MS = 1_000;
const WHY = cancelled('library');

describe('a recorded cancel', () => {
  test('waits for its call, with its reason, and is there once', () => {
    const { cancels } = store();
    const why = cancelled('library', 'too dear');
    expect(cancels.record(HERE, 1, why)).toBe(true);
    expect(cancels.peek(HERE, 1)).toBe(why);
    expect(cancels.take(HERE, 1)).toBe(why);
    expect(cancels.take(HERE, 1)).toBeUndefined();
    expect(cancels.size).toBe(0);
  });

  test('is cleared once, and then waits for nothing', () => {
    const { cancels } = store();
    cancels.record(HERE, 1, WHY);
    expect(cancels.clear(HERE, 1)).toBe(true);
    expect(cancels.clear(HERE, 1)).toBe(false);
    expect(cancels.peek(HERE, 1)).toBeUndefined();
  });

  test.each<[RequestId, RequestId]>([
    [7, '7'],
    ['7', 7],
    [0, ''],
    ['', 0],
  ])('for %j is not for %j', (id, other) => {
    const { cancels } = store();
    cancels.record(HERE, id, WHY);
    expect(cancels.take(HERE, other)).toBeUndefined();
    expect(cancels.clear(HERE, other)).toBe(false);
    expect(cancels.take(HERE, id)).toBe(WHY);
  });

  test('in one scope is not for the same id in another, whatever the scopes are called', () => {
    const { cancels } = store();
    cancels.record('__proto__', 1, WHY);
    cancels.record('a:b', 'c', WHY);
    expect(cancels.peek(HERE, 1)).toBeUndefined();
    expect(cancels.peek('constructor', 1)).toBeUndefined();
    expect(cancels.peek('a', 'b:c')).toBeUndefined();
    expect(cancels.take('__proto__', 1)).toBe(WHY);
  });

  test('that is recorded again counts once and has the newest reason', () => {
    const { cancels } = store();
    const newer = cancelled('library', 'newer');
    cancels.record(HERE, 1, WHY);
    cancels.record(HERE, 1, newer);
    expect(cancels.size).toBe(1);
    expect(cancels.take(HERE, 1)).toBe(newer);
    expect(cancels.take(HERE, 1)).toBeUndefined();
  });
});

describe('the TTL', () => {
  test('ends the wait at its last millisecond, not before, whether or not anything has swept', () => {
    const { cancels, clock } = store();
    for (const id of [1, 2, 3]) cancels.record(HERE, id, WHY);
    clock.advance(TTL_MS - 1);
    expect(cancels.take(HERE, 1)).toBe(WHY);
    clock.advance(1);
    expect(cancels.peek(HERE, 2)).toBeUndefined();
    expect(cancels.take(HERE, 2)).toBeUndefined();
    expect(cancels.clear(HERE, 3)).toBe(false);
  });

  test('a sweep removes what is past it, keeps the rest, and counts', () => {
    const { cancels, clock } = store();
    cancels.record(HERE, 1, WHY);
    cancels.record(THERE, 1, WHY);
    clock.advance(TTL_MS / 2);
    cancels.record(HERE, 2, WHY);
    expect(cancels.expire()).toBe(0);
    clock.advance(TTL_MS / 2);
    expect(cancels.expire()).toBe(2);
    expect(cancels.expire()).toBe(0);
    expect(cancels.size).toBe(1);
    expect(cancels.peek(HERE, 2)).toBe(WHY);
  });

  test('begins anew for a key that is recorded again, also when it was over', () => {
    const { cancels, clock } = store();
    cancels.record(HERE, 1, WHY);
    cancels.record(HERE, 2, WHY);
    clock.advance(TTL_MS - 1);
    cancels.record(HERE, 1, WHY);
    clock.advance(1);
    cancels.record(HERE, 2, WHY);
    clock.advance(TTL_MS - 2);
    expect(cancels.expire()).toBe(0);
    expect(cancels.peek(HERE, 1)).toBe(WHY);
    clock.advance(1);
    expect(cancels.peek(HERE, 1)).toBeUndefined();
    expect(cancels.peek(HERE, 2)).toBe(WHY);
  });

  test('Infinity never ends', () => {
    const { cancels, clock } = store({ ttlMs: Infinity });
    cancels.record(HERE, 1, WHY);
    clock.advance(Number.MAX_SAFE_INTEGER);
    expect(cancels.expire()).toBe(0);
    expect(cancels.peek(HERE, 1)).toBe(WHY);
  });
});

describe('the quota of a scope', () => {
  test('a scope at its quota is refused, and no other scope is', () => {
    const { cancels, fill, evictions } = store({ maxPerScope: 3 });
    fill(HERE, 3);
    expect(cancels.record(HERE, 'more', WHY)).toBe(false);
    expect(cancels.peek(HERE, 'more')).toBeUndefined();
    expect(cancels.size).toBe(3);
    expect(cancels.record(THERE, 'more', WHY)).toBe(true);
    expect(evictions).toEqual([]);
  });

  test('a key that waits already is renewed at the quota, not refused', () => {
    const { cancels, fill } = store({ maxPerScope: 3 });
    fill(HERE, 3);
    const newer = cancelled('library', 'newer');
    expect(cancels.record(HERE, 0, newer)).toBe(true);
    expect(cancels.peek(HERE, 0)).toBe(newer);
    expect(cancels.size).toBe(3);
  });

  test('a row that is taken makes room', () => {
    const { cancels, fill } = store({ maxPerScope: 3 });
    fill(HERE, 3);
    cancels.take(HERE, 1);
    expect(cancels.record(HERE, 'more', WHY)).toBe(true);
    expect(cancels.record(HERE, 'still more', WHY)).toBe(false);
  });

  test('a row past its TTL does not count against it', () => {
    const { cancels, fill, clock } = store({ maxPerScope: 3 });
    fill(HERE, 3);
    clock.advance(TTL_MS);
    expect(cancels.record(HERE, 'more', WHY)).toBe(true);
    expect(cancels.size).toBe(1);
  });

  test('comes before the cap: who is refused evicts nobody', () => {
    const { cancels, fill, evictions } = store({ maxPerScope: 3, max: 6 });
    fill(HERE, 3);
    fill(THERE, 3);
    expect(cancels.record(HERE, 'more', WHY)).toBe(false);
    expect(cancels.size).toBe(6);
    expect(evictions).toEqual([]);
  });

  test('is 256 unless it is given, and Infinity disables it', () => {
    const preset = store();
    preset.fill(HERE, 256);
    expect(preset.cancels.record(HERE, 'more', WHY)).toBe(false);
    const without = store({ maxPerScope: Infinity });
    without.fill(HERE, 300);
    expect(without.cancels.size).toBe(300);
  });
});

describe('the cap in all', () => {
  test('never refuses, and is never exceeded', () => {
    const { cancels, evictions } = store({ max: 40 });
    for (let n = 0; n < 500; n += 1) {
      expect(cancels.record(`session:${n}`, n, WHY)).toBe(true);
      expect(cancels.size).toBeLessThanOrEqual(40);
    }
    expect(new Set(evictions)).toEqual(new Set([2]));
  });

  test('one client filling the table loses its own rows first', () => {
    const { cancels, fill, waiting } = store({ max: 100, maxPerScope: 95 });
    fill(THERE, 5);
    fill(HERE, 95);
    expect(cancels.record('session:c', 1, WHY)).toBe(true);
    expect(waiting(THERE)).toEqual([0, 1, 2, 3, 4]);
    expect(waiting(HERE)).toEqual(range(5, 95));
  });

  test('a scope that holds fewer rows is touched only when the larger ones are gone, the next largest first', () => {
    const { cancels, fill, waiting } = store({ max: 200 });
    fill('session:one', 1);
    fill('session:two', 2);
    fill('session:six', 6);
    for (let n = 0; n < 191; n += 1) cancels.record(`session:${n}`, 0, WHY);
    cancels.record('session:new', 0, WHY);
    expect(waiting('session:six')).toEqual([]);
    expect(waiting('session:two')).toEqual([]);
    // Two more of the batch of ten: then all that are left hold one row, and the oldest go.
    expect(waiting('session:one')).toEqual([]);
    expect(waiting('session:0')).toEqual([]);
    expect(waiting('session:1')).toEqual([0]);
  });

  test('a large scope that is drained below a smaller one is still drained first', () => {
    const { cancels, fill, waiting } = store({ max: 200 });
    fill(THERE, 98);
    fill(HERE, 102);
    cancels.record('session:c', 0, WHY);
    expect(waiting(HERE)).toEqual(range(10, 102));
    expect(waiting(THERE)).toEqual(range(0, 98));
  });

  test('the scope that is recording has no privilege', () => {
    const { cancels, fill, waiting } = store({ max: 40 });
    fill(THERE, 10);
    fill(HERE, 30);
    cancels.record(HERE, 'more', WHY);
    expect(waiting(HERE)).toEqual([...range(2, 30), 'more']);
    expect(waiting(THERE)).toEqual(range(0, 10));
  });

  test('all tied: the oldest go, whoever owns them', () => {
    const { cancels, fill, waiting } = store({ max: 80 });
    cancels.record(HERE, 100, WHY);
    fill(THERE, 40);
    fill(HERE, 39);
    cancels.record('session:c', 0, WHY);
    expect(waiting(HERE)).toEqual(range(0, 39));
    expect(waiting(THERE)).toEqual(range(3, 40));
  });

  test('all tied, one row each: the oldest go', () => {
    const { cancels, waiting, evictions } = store({ max: 60 });
    for (const n of range(0, 60)) cancels.record(`session:${n}`, 0, WHY);
    cancels.record('session:0', 0, WHY);
    cancels.record('session:new', 0, WHY);
    expect(range(0, 60).filter((n) => waiting(`session:${n}`).length === 0)).toEqual([1, 2, 3]);
    expect(evictions).toEqual([3]);
  });

  test('of equally large scopes beside a smaller one, the one that has not changed for longest is drained', () => {
    const { cancels, fill, waiting } = store({ max: 41 });
    fill(HERE, 20);
    fill(THERE, 20);
    fill('session:c', 1);
    cancels.take(HERE, 0);
    cancels.record(HERE, 0, WHY);
    cancels.record('session:d', 0, WHY);
    expect(waiting(HERE)).toEqual(range(0, 20));
    expect(waiting(THERE)).toEqual(range(2, 20));
  });

  test('a batch is always full: a twentieth, at least one', () => {
    for (const [max, batch] of [
      [1, 1],
      [19, 1],
      [39, 1],
      [40, 2],
      [110, 5],
    ] as const) {
      const { cancels, evictions } = store({ max });
      for (let n = 0; n <= max; n += 1) cancels.record(`session:${n}`, 0, WHY);
      expect(evictions).toEqual([batch]);
      expect(cancels.size).toBe(max - batch + 1);
    }
  });

  test('a key that waits already is renewed at the cap: nothing is evicted, and it is the newest', () => {
    const { cancels, fill, waiting, evictions } = store({ max: 3 });
    fill(HERE, 3);
    cancels.record(HERE, 0, WHY);
    expect(evictions).toEqual([]);
    cancels.record(HERE, 3, WHY);
    expect(waiting(HERE)).toEqual([0, 2, 3]);
  });

  test('a row past its TTL goes before a live one, and is not counted as evicted', () => {
    const { cancels, fill, clock, evictions } = store({ max: 3 });
    fill(THERE, 1);
    clock.advance(TTL_MS);
    fill(HERE, 2);
    cancels.record(HERE, 'more', WHY);
    expect(cancels.size).toBe(3);
    expect(evictions).toEqual([]);
  });

  test('who hears of an eviction finds the new row in, and may record as well', () => {
    const clock = new VirtualClock();
    const sizes: number[] = [];
    const cancels = new RecordedCancels(clock, { max: 2 }, () => {
      sizes.push(cancels.size);
      cancels.record(HERE, 'new', WHY);
    });
    for (const id of [1, 2, 'new']) cancels.record(HERE, id, WHY);
    expect(sizes).toEqual([2]);
    expect(cancels.size).toBe(2);
  });

  test('is 10 000 unless it is given, and Infinity disables it', () => {
    const preset = store();
    for (const n of range(0, 10_001)) preset.cancels.record(`session:${n}`, 0, WHY);
    expect(preset.evictions).toEqual([500]);
    const without = store({ max: Infinity });
    for (const n of range(0, 10_001)) without.cancels.record(`session:${n}`, 0, WHY);
    expect(without.cancels.size).toBe(10_001);
  });
});

describe('a limit that is none is refused where it is given', () => {
  const object = Object.create(null) as unknown;

  test.each(['maxPerScope', 'max'])('%s', (name) => {
    for (const value of [0, -1, 1.5, NaN, -Infinity, '5', null, true, 5n, Symbol('5'), object, () => 5]) {
      expect(() => store({ [name]: value })).toThrow(RangeError);
      expect(() => store({ [name]: value })).toThrow(
        `estop: recorded.${name} must be an integer >= 1 or Infinity, got `,
      );
    }
  });

  test('ttlMs', () => {
    for (const value of [0, -1, NaN, '5', null, object])
      expect(() => store({ ttlMs: value as number })).toThrow(RangeError);
    expect(() => store({ ttlMs: '5' as never })).toThrow(
      'estop: recorded.ttlMs must be a number of milliseconds > 0, got "5"',
    );
  });
});

/** A store with the limits of a test, and what it says. */
function store(limits: RecordedLimits = {}) {
  const clock = new VirtualClock();
  const evictions: number[] = [];
  const cancels = new RecordedCancels(clock, { ttlMs: TTL_MS, ...limits }, (count) => evictions.push(count));
  return {
    clock,
    cancels,
    evictions,
    /** Records ids from 0 in one scope. */
    fill(scope: string, count: number): void {
      for (const id of range(0, count)) expect(cancels.record(scope, id, WHY)).toBe(true);
    },
    /** Those of the ids that tests use here which wait in one scope. */
    waiting: (scope: string): RequestId[] =>
      [...range(0, 200), 'more'].filter((id) => cancels.peek(scope, id) !== undefined),
  };
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, n) => from + n);
}
