import {
  cancelled,
  checkTimeout,
  Engine,
  firstGiven,
  type RunOptions,
  TIMEOUT_VARIABLE,
  timeoutFromEnvironment,
} from '@estop/server/core';
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
    answerOf(call.run(() => new Promise<void>(() => {}), { timeoutMs: 50 }));
    clock.advance(49);
    expect(call.isCancelled).toBe(false);
    expect(call.remaining()).toBe(1);
    clock.advance(1);
    expect(call.reason?.kind).toBe('deadline');
  });
});

describe('progress', () => {
  test('does not extend a deadline unless that was asked for', () => {
    const { clock, start } = rig();
    const { call } = start(50);
    clock.advance(40);
    call.progressed();
    expect(call.remaining()).toBe(10);
    clock.advance(10);
    expect(call.reason?.kind).toBe('deadline');
  });

  test('starts it anew where that was asked for, and sets no timer for it', () => {
    const { clock, start } = rig();
    const { call } = start(50, {}, { resetTimeoutOnProgress: true });
    clock.advance(40);
    call.progressed();
    expect(call.remaining()).toBe(50);
    expect(clock.pending).toBe(1);
    clock.advance(49);
    expect(call.state).toBe('running');
    clock.advance(1);
    expect(call.reason).toMatchObject({ kind: 'deadline', timeoutMs: 50 });
  });

  test('never extends it past 10 times its length, where nobody says otherwise', () => {
    expect(endOf({ resetTimeoutOnProgress: true })).toBe(500);
  });

  test('never extends it past maxTotalTimeoutMs', () => {
    expect(endOf({ resetTimeoutOnProgress: true, maxTotalTimeoutMs: 120 })).toBe(120);
  });

  test('extends it for as long as it comes with a ceiling of Infinity', () => {
    expect(endOf({ resetTimeoutOnProgress: true, maxTotalTimeoutMs: Infinity }, 10_000)).toBe(Infinity);
  });

  test('does not shorten it by a ceiling that is lower than the deadline itself', () => {
    expect(endOf({ resetTimeoutOnProgress: true, maxTotalTimeoutMs: 10 })).toBe(50);
  });

  test('does nothing without a deadline, before the start, or after the stop', () => {
    const { clock, start, arrive } = rig();
    const endless = start(Infinity, {}, { resetTimeoutOnProgress: true }).call;
    endless.progressed();
    expect(endless.remaining()).toBe(Infinity);
    arrive().progressed();
    const stopped = start(50, {}, { resetTimeoutOnProgress: true }).call;
    stopped.stop(cancelled('client'));
    stopped.progressed();
    expect(stopped.remaining()).toBe(0);
    clock.advance(100);
    expect(stopped.reason?.kind).toBe('cancelled');
  });

  /** When a call ends that shows progress all the time. */
  function endOf(options: Partial<RunOptions>, upToMs = 1_000): number {
    const { clock, start } = rig();
    const { call } = start(50, {}, options);
    for (; clock.now() < upToMs; clock.advance(10)) {
      call.progressed();
      if (call.reason !== undefined) return clock.now();
    }
    return Infinity;
  }
});

describe('while the user is being asked', () => {
  test('the deadline stands still, holds no timer, and goes on with what was left', () => {
    const { clock, start } = rig();
    const { call } = start(50);
    clock.advance(20);
    call.pause();
    expect(clock.pending).toBe(0);
    clock.advance(1_000_000);
    expect([call.state, call.remaining()]).toEqual(['running', 30]);
    call.resume();
    expect(call.remaining()).toBe(30);
    clock.advance(29);
    expect(call.state).toBe('running');
    clock.advance(1);
    expect(call.reason?.kind).toBe('deadline');
  });

  test('two questions at once: it goes on when both were answered', () => {
    const { clock, start } = rig();
    const { call } = start(50);
    call.pause();
    clock.advance(100);
    call.pause();
    clock.advance(100);
    call.resume();
    clock.advance(100);
    expect([call.remaining(), clock.pending]).toEqual([50, 0]);
    call.resume();
    clock.advance(50);
    expect(call.reason?.kind).toBe('deadline');
  });

  test('a resume that is one too many gives no time, and no second timer', () => {
    const { clock, start } = rig();
    clock.advance(1_000);
    const { call } = start(50);
    call.resume();
    expect([call.remaining(), clock.pending]).toEqual([50, 1]);
    call.pause();
    call.resume();
    call.resume();
    clock.advance(50);
    expect(call.reason?.kind).toBe('deadline');
    clock.advance(5_000);
    expect(call.remaining()).toBe(0);
  });

  test('the time does not count against the ceiling either', () => {
    const { clock, start } = rig();
    const { call } = start(50, {}, { resetTimeoutOnProgress: true, maxTotalTimeoutMs: 80 });
    clock.advance(40);
    call.pause();
    clock.advance(1_000);
    call.resume();
    call.progressed();
    expect(call.remaining()).toBe(40);
  });

  test('progress starts it anew as of the moment at which it stood still', () => {
    const { clock, start } = rig();
    const { call } = start(50, {}, { resetTimeoutOnProgress: true });
    clock.advance(20);
    call.pause();
    clock.advance(1_000);
    call.progressed();
    expect(call.remaining()).toBe(50);
    call.resume();
    expect(call.remaining()).toBe(50);
  });

  test('a stop is a stop, and the answer to the question starts no timer', async () => {
    const { clock, start } = rig();
    const { call, returns } = start(50);
    call.pause();
    call.stop(cancelled('client'));
    returns();
    await turns();
    call.resume();
    expect([call.state, call.remaining(), clock.pending]).toEqual(['stopped', 0, 0]);
  });

  test('a call that ends leaves no timer, though nobody resumes it', async () => {
    const { clock, start } = rig();
    const { call, returns } = start(50);
    call.pause();
    returns();
    await turns();
    call.resume();
    expect([call.state, clock.pending]).toEqual(['completed', 0]);
  });
});

test('remaining() is Infinity before the start, what is left while running, 0 after a stop, and Infinity after the end', async () => {
  const { clock, start, arrive } = rig();
  expect(arrive({ id: 2 }).remaining()).toBe(Infinity);
  const { call, returns } = start(50);
  expect(call.remaining()).toBe(50);
  clock.advance(20);
  expect(call.remaining()).toBe(30);
  const refused = arrive({ id: 3 });
  refused.stop(cancelled('client'));
  expect(refused.remaining()).toBe(0);
  returns();
  await turns();
  expect(call.remaining()).toBe(Infinity);
});

test.each([
  [NaN, 'NaN'],
  [-1, '-1'],
  ['5', '"5"'],
  [undefined, 'undefined'],
])(
  'a call is not run with a timeout of %o, which would fire at once or never: an error names the tool',
  (timeoutMs, shown) => {
    const { arrive, clock, engine } = rig();
    const call = arrive();
    expect(() => call.run(() => 'value', { timeoutMs: timeoutMs as number })).toThrow(
      new RangeError(`estop: tool "scrape": timeoutMs must be a number of milliseconds >= 0, got ${shown}`),
    );
    expect([call.state, clock.pending]).toEqual(['queued', 0]);
    call.discard();
    expect(engine.stats().inFlight).toBe(0);
  },
);

test.each([NaN, -1])('nor with a ceiling of %d, on which no deadline could be kept', (maxTotalTimeoutMs) => {
  const { start, clock } = rig();
  expect(() => start(50, {}, { resetTimeoutOnProgress: true, maxTotalTimeoutMs })).toThrow(
    new RangeError(
      `estop: tool "scrape": maxTotalTimeoutMs must be a number of milliseconds >= 0, got ${maxTotalTimeoutMs}`,
    ),
  );
  expect(clock.pending).toBe(0);
});

/** Fires what is more than a millisecond away a millisecond early. */
class HastyClock extends VirtualClock {
  override setTimer(run: () => void, ms: number): unknown {
    return super.setTimer(run, ms > 1 ? ms - 1 : ms);
  }
}
