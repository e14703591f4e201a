import { checkTimeout, Engine, firstGiven, TIMEOUT_VARIABLE, timeoutFromEnvironment } from '@estop/server/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { answerOf, rig } from '../support/rig.ts';
import { LONGEST_NODE_TIMER_MS, VirtualClock } from '../support/virtual-clock.ts';
import { turns } from '../support/waiting.ts';

describe('whose word counts', () => {
  test('the first that says anything: invocation, tool, server, environment, default', () => {
    expect(firstGiven(1, 2, 3, 4, 5)).toBe(1);
    expect(firstGiven(undefined, 2, 3, 4, 5)).toBe(2);
    expect(firstGiven(undefined, undefined, 3, 4, 5)).toBe(3);
    expect(firstGiven(undefined, undefined, undefined, 4, 5)).toBe(4);
    expect(firstGiven(undefined, undefined, undefined, undefined, 5)).toBe(5);
  });

  test('nobody says anything: there is no deadline', () => {
    expect(firstGiven()).toBe(Infinity);
    expect(firstGiven(undefined)).toBe(Infinity);
  });

  test('"none" is a word too: a tool without a deadline is not given the one of its server', () => {
    expect(firstGiven(checkTimeout(0, 'tool "scrape": timeoutMs'), 50)).toBe(Infinity);
    expect(firstGiven(Infinity, 50)).toBe(Infinity);
  });
});

describe('which values are good', () => {
  test.each([
    [0, Infinity],
    [-0, Infinity],
    [Infinity, Infinity],
    [1, 1],
    [0.5, 0.5],
    [50_000, 50_000],
    [2 ** 40, 2 ** 40],
  ])('%d means %d ms', (given, meant) => {
    expect(checkTimeout(given, 'tool "scrape": timeoutMs')).toBe(meant);
  });

  test.each([
    [Number.NaN, 'NaN'],
    [-1, '-1'],
    [-Infinity, '-Infinity'],
    ['5', '"5"'],
    ['', '""'],
    [null, 'null'],
    [undefined, 'undefined'],
    [true, 'true'],
    [5n, '5n'],
    [[5], '[ 5 ]'],
    [{}, '{}'],
    [Symbol('5'), 'Symbol(5)'],
  ])('%o is refused with an error that names the tool and the value', (given, shown) => {
    expect(() => checkTimeout(given, 'tool "scrape": timeoutMs')).toThrow(
      new RangeError(`estop: tool "scrape": timeoutMs must be a number of milliseconds >= 0, got ${shown}`),
    );
  });

  test('anything at all is either a good value or a RangeError', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withNullPrototype: true }), (given) => {
        try {
          expect(checkTimeout(given, 'it')).toBeGreaterThan(0);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe(`the environment variable ${TIMEOUT_VARIABLE}`, () => {
  test.each([
    [undefined, undefined],
    ['', undefined],
    ['  ', undefined],
    ['0', Infinity],
    ['Infinity', Infinity],
    ['5000', 5_000],
    [' 5000 ', 5_000],
    ['0.5', 0.5],
  ])('%j means %j', (text, meant) => {
    expect(timeoutFromEnvironment(text === undefined ? {} : { [TIMEOUT_VARIABLE]: text })).toBe(meant);
  });

  test.each(['NaN', '-1', '5s', 'none', '1e3', '0x10', '5 000', '-Infinity'])('%j is refused, by name', (text) => {
    expect(() => timeoutFromEnvironment({ [TIMEOUT_VARIABLE]: text })).toThrow(
      new RangeError(
        `estop: the environment variable ESTOP_TOOL_TIMEOUT_MS must be a number of milliseconds >= 0, got "${text}"`,
      ),
    );
  });
});

describe('the timer', () => {
  test('a deadline that is longer than a Node timer is a chain of timers that Node can hold, and ends on time', async () => {
    const timeoutMs = 3 * LONGEST_NODE_TIMER_MS + 5;
    const { clock, start } = rig();
    const { call } = start(timeoutMs);
    clock.advance(timeoutMs - 1);
    expect(call.state).toBe('running');
    expect(call.remaining()).toBe(1);
    expect(clock.pending).toBe(1);
    clock.advance(1);
    expect(call.reason?.kind).toBe('deadline');
    expect(clock.longest).toBeLessThanOrEqual(LONGEST_NODE_TIMER_MS);
  });

  test('a long deadline that is re-armed leaves no timer behind when its call ends', async () => {
    const { clock, start } = rig();
    const { returns } = start(3 * LONGEST_NODE_TIMER_MS);
    clock.advance(LONGEST_NODE_TIMER_MS + 1);
    returns();
    await turns();
    expect(clock.pending).toBe(0);
  });

  test('no deadline is early, none is late, and none sets a timer that Node cannot hold', () => {
    const timeout = fc.oneof(
      fc.integer({ min: 1, max: 2 ** 34 }),
      fc.double({ min: 0.001, max: 5_000, noNaN: true }),
      fc.constantFrom(LONGEST_NODE_TIMER_MS - 1, LONGEST_NODE_TIMER_MS, LONGEST_NODE_TIMER_MS + 1),
    );
    fc.assert(
      fc.property(timeout, fc.nat(1_000), (timeoutMs, startedAt) => {
        const { clock, start } = rig();
        clock.advance(startedAt);
        const { call } = start(timeoutMs);
        clock.advance(timeoutMs * 0.999);
        expect(call.isCancelled).toBe(false);
        clock.advance(timeoutMs * 0.002 + 1);
        expect(call.isCancelled).toBe(true);
        expect(clock.longest).toBeLessThanOrEqual(LONGEST_NODE_TIMER_MS);
      }),
      { numRuns: 500 },
    );
  });

  test('a timer that fires too early, as those of Node may, is set again for the rest', async () => {
    const clock = new HastyClock();
    const engine = new Engine({ clock });
    const call = engine.begin({ scope: 'connection:1', id: 1, method: 'tools/call', name: 'scrape' });
    answerOf(call.run(() => new Promise<void>(() => {}), 50));
    clock.advance(49);
    expect(call.isCancelled).toBe(false);
    expect(call.remaining()).toBe(1);
    clock.advance(1);
    expect(call.reason?.kind).toBe('deadline');
  });
});

/** Fires what is more than a millisecond away a millisecond early. */
class HastyClock extends VirtualClock {
  override setTimer(run: () => void, ms: number): unknown {
    return super.setTimer(run, ms > 1 ? ms - 1 : ms);
  }
}
