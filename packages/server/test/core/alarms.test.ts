import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Alarm, Alarms } from '../../src/core/alarms.ts';
import { LONGEST_NODE_TIMER_MS, VirtualClock } from '../support/virtual-clock.ts';

describe('an alarm', () => {
  test('rings at its time, once', () => {
    const { clock, set, rung } = rig();
    set('one', 10);
    clock.advance(9);
    expect(rung).toEqual([]);
    clock.advance(1);
    expect(rung).toEqual(['one at 10']);
    clock.advance(1_000);
    expect(rung).toHaveLength(1);
  });

  test('that is moved rings at its new time only, be it later or earlier', () => {
    const { clock, set, rung } = rig();
    set('later', 10);
    set('earlier', 100);
    set('later', 20);
    set('earlier', 5);
    clock.advance(200);
    expect(rung).toEqual(['earlier at 5', 'later at 20']);
  });

  test('that is unset does not ring; unset twice, or never set, is nothing', () => {
    const { clock, alarms, set, rung, alarm } = rig();
    set('one', 10);
    set('two', 10);
    alarms.unset(alarm('one'));
    alarms.unset(alarm('one'));
    alarms.unset(alarm('three'));
    clock.advance(50);
    expect(rung).toEqual(['two at 10']);
  });

  test('may set another, itself, or unset one that is due, as it rings', () => {
    const { clock, alarms, set, rung, alarm, onRing } = rig();
    onRing('one', () => {
      alarms.unset(alarm('two'));
      set('one', 30);
      set('three', 20);
    });
    set('one', 10);
    set('two', 10.5);
    clock.advance(25);
    expect(rung).toEqual(['one at 10', 'three at 20']);
    onRing('one', () => {});
    clock.advance(25);
    expect(rung.at(-1)).toBe('one at 30');
    expect(clock.pending).toBe(0);
  });

  test('further off than a Node timer can be is on time, by timers that Node can hold', () => {
    const { clock, set, rung } = rig();
    set('far', 3 * LONGEST_NODE_TIMER_MS + 5);
    clock.advance(3 * LONGEST_NODE_TIMER_MS + 4);
    expect(rung).toEqual([]);
    clock.advance(1);
    expect(rung).toHaveLength(1);
    expect(clock.longest).toBeLessThanOrEqual(LONGEST_NODE_TIMER_MS);
  });
});

test('the timer that is left when no alarm is keeps no process alive, serves the next one, and goes at its time', () => {
  const { clock, alarms, set, rung, alarm } = rig();
  set('one', 50);
  alarms.unset(alarm('one'));
  expect([clock.pending, clock.background]).toEqual([0, 1]);
  set('two', 70);
  expect([clock.pending, clock.background]).toEqual([1, 0]);
  clock.advance(70);
  expect(rung).toEqual(['two at 70']);
  set('three', 100);
  alarms.unset(alarm('three'));
  clock.advance(30);
  expect([clock.pending, clock.background]).toEqual([0, 0]);
});

test('whatever is set, moved and unset: each rings at its time, none else, on one timer', () => {
  const step = fc.record({
    do: fc.constantFrom('set', 'set', 'unset', 'time'),
    which: fc.nat(9).map(String),
    ms: fc.oneof(fc.nat(20), fc.double({ min: 0, max: 20, noNaN: true })),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const { clock, alarms, set, rung, alarm } = rig();
      const due = new Map<string, number>();
      for (const { do: what, which, ms } of steps) {
        if (what === 'set') {
          due.set(which, clock.now() + ms);
          set(which, clock.now() + ms);
        } else if (what === 'unset') {
          due.delete(which);
          alarms.unset(alarm(which));
        } else {
          // Timers have whole milliseconds: one that falls between two rings at the end of its millisecond.
          clock.advance(0);
          for (let left = Math.ceil(ms); left > 0; left -= 1) clock.advance(1);
          const now = clock.now();
          const expected = [...due].filter(([, at]) => at <= now);
          for (const [name] of expected) due.delete(name);
          expect(
            rung
              .splice(0)
              .map((text) => text.split(' ')[0])
              .sort(),
          ).toEqual(expected.map(([name]) => name).sort());
        }
        expect(clock.pending).toBe(due.size > 0 ? 1 : 0);
        expect(clock.background).toBeLessThanOrEqual(1);
      }
    }),
    { numRuns: 2_000 },
  );
});

function rig() {
  const clock = new VirtualClock();
  const alarms = new Alarms(clock);
  const rung: string[] = [];
  const known = new Map<string, Alarm>();
  const reactions = new Map<string, () => void>();
  const alarm = (name: string): Alarm => {
    const ring = (): void => {
      rung.push(`${name} at ${clock.now()}`);
      reactions.get(name)?.();
    };
    const made = known.get(name) ?? { dueAt: 0, at: -1, ring };
    known.set(name, made);
    return made;
  };
  return {
    clock,
    alarms,
    rung,
    alarm,
    set: (name: string, dueAt: number) => alarms.set(alarm(name), dueAt),
    onRing: (name: string, run: () => void) => void reactions.set(name, run),
  };
}
