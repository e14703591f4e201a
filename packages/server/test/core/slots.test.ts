import { describe, expect, test } from 'vitest';
import { type Gate, type Place, type SlotLimits, Slots, type SlotUser } from '../../src/core/slots/slots.ts';
import { LONGEST_NODE_TIMER_MS, VirtualClock } from '../support/virtual-clock.ts';

describe('room', () => {
  test('a call for which there is room starts at once', () => {
    const { ask } = rig({ maxConcurrency: 1 });
    expect(ask().told).toEqual(['admitted']);
  });

  test('a call for which there is none waits until another leaves', () => {
    const { slots, ask } = rig({ maxConcurrency: 1 });
    const one = ask();
    const two = ask();
    expect(two.told).toEqual([]);
    expect([slots.running, slots.waiting]).toEqual([1, 1]);
    one.place.leave();
    expect(two.told).toEqual(['admitted']);
    expect([slots.running, slots.waiting]).toEqual([1, 0]);
  });

  test('a call that waits for one thing holds nothing else meanwhile', () => {
    const { slots, ask } = rig({ maxConcurrency: 2 });
    const db = slots.mutex('db');
    ask({ gate: db });
    ask({ gate: db });
    expect(ask().told).toEqual(['admitted']);
  });

  test('a scope at its own limit waits though the server has room, and others do not', () => {
    const { ask } = rig({ maxConcurrencyPerScope: 1 });
    const one = ask({ scope: 'a' });
    const two = ask({ scope: 'a' });
    expect(ask({ scope: 'b' }).told).toEqual(['admitted']);
    expect(two.told).toEqual([]);
    one.place.leave();
    expect(two.told).toEqual(['admitted']);
  });

  test("a tool at its limit waits, and does not hold up its scope's calls of other tools, nor other scopes", () => {
    const { slots, ask } = rig({ maxConcurrency: 10 });
    const scrape = slots.limit('scrape', 2);
    const [one] = [ask({ gate: scrape }), ask({ gate: scrape })];
    const waits = ask({ gate: scrape });
    expect(waits.told).toEqual([]);
    expect(ask().told).toEqual(['admitted']);
    expect(ask({ gate: slots.limit('read', 1) }).told).toEqual(['admitted']);
    expect(ask({ scope: 'b' }).told).toEqual(['admitted']);
    one.place.leave();
    expect(waits.told).toEqual(['admitted']);
  });

  test("calls that wait behind a shut mutex do not hold up their scope's other waiting calls", () => {
    const { slots, ask } = rig({ maxConcurrency: 2 });
    const db = slots.mutex('db');
    ask({ gate: db });
    const other = ask();
    const behind = ask({ gate: db });
    const next = ask();
    other.place.leave();
    expect([behind.told, next.told]).toEqual([[], ['admitted']]);
  });
});

describe('turns', () => {
  test('calls of one scope run in the order in which they came', () => {
    const { ask, order } = rig({ maxConcurrency: 1 });
    const calls = ['1', '2', '3', '4'].map((what) => ask({ what }));
    for (const call of calls) call.place.leave();
    expect(order).toEqual(['1', '2', '3', '4']);
  });

  test("a scope with a thousand waiting calls does not delay another scope's first by more than one turn", () => {
    const { ask, order } = rig({ maxConcurrency: 1, maxQueue: 2_000 });
    const running = ask({ what: 'running' });
    const flood = Array.from({ length: 1_000 }, (_, i) => ask({ scope: 'flood', what: `flood ${i}` }));
    ask({ scope: 'quiet', what: 'quiet' });
    running.place.leave();
    flood[0]?.place.leave();
    expect(order).toEqual(['running', 'flood 0', 'quiet']);
  });

  test('scopes take turns', () => {
    const { ask, order, leaveAll } = rig({ maxConcurrency: 1 });
    for (const what of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) ask({ scope: what.slice(0, 1), what });
    leaveAll();
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
  });

  test('a scope that waits at many gates has one turn, not one for each gate', () => {
    const { slots, ask, order, leaveAll } = rig({ maxConcurrency: 1 });
    ask({ scope: 'x', what: 'x' });
    for (const name of ['1', '2', '3']) ask({ scope: 'a', what: `a${name}`, gate: slots.limit(name, 5) });
    for (const name of ['1', '2']) ask({ scope: 'b', what: `b${name}` });
    leaveAll();
    expect(order).toEqual(['x', 'a1', 'b1', 'a2', 'b2', 'a3']);
  });

  test('a scope at its limit is passed over, and has its turn back when it has room', () => {
    const { ask, order } = rig({ maxConcurrency: 2, maxConcurrencyPerScope: 1 });
    const a1 = ask({ scope: 'a', what: 'a1' });
    const b1 = ask({ scope: 'b', what: 'b1' });
    for (const what of ['a2', 'c1', 'd1', 'b2']) ask({ scope: what.slice(0, 1), what });
    a1.place.leave();
    b1.place.leave();
    expect(order).toEqual(['a1', 'b1', 'a2', 'c1']);
  });

  test('a scope that waits for a mutex and has many short calls gets the mutex in turn with others', () => {
    const { slots, ask, order } = rig({ maxConcurrency: 2 });
    const db = slots.mutex('db');
    let holder = ask({ scope: 'x', what: 'x', gate: db });
    let short = ask({ scope: 'a', what: 'short' });
    const shorts = [ask({ scope: 'a', what: 'short' })];
    const waits = ['b', 'a', 'b', 'a', 'b', 'a', 'b', 'a'].map((scope) => ask({ scope, what: scope, gate: db }));
    for (const next of waits) {
      // The stream goes on: another waits before the one that runs leaves.
      for (let i = 0; i < 3; i += 1) {
        shorts.push(ask({ scope: 'a', what: 'short' }));
        short.place.leave();
        short = shorts.shift() ?? short;
      }
      holder.place.leave();
      holder = next;
    }
    expect(order.filter((what) => what !== 'short')).toEqual(['x', 'b', 'a', 'b', 'a', 'b', 'a', 'b', 'a']);
  });

  test('scopes that were at their limit when a mutex came free are the next to get it, in the order of their turns', () => {
    const { slots, ask, order } = rig({ maxConcurrencyPerScope: 1 });
    const db = slots.mutex('db');
    const holder = ask({ scope: 'x', what: 'x', gate: db });
    const shorts = ['a', 'b'].map((scope) => ask({ scope, what: 'short' }));
    const [a, , c] = ['a', 'b', 'c', 'c'].map((scope) => ask({ scope, what: scope, gate: db }));
    for (const call of [holder, ...shorts, c, a]) call?.place.leave();
    expect(order).toEqual(['x', 'short', 'short', 'c', 'a', 'b']);
  });

  test('a scope that comes back after it was gone takes no earlier turn', () => {
    const { ask, order, leaveAll } = rig({ maxConcurrency: 1 });
    ask({ scope: 'x', what: 'x' });
    const a1 = ask({ scope: 'a', what: 'a1' });
    ask({ scope: 'b', what: 'b1' });
    a1.place.withdraw();
    ask({ scope: 'a', what: 'a2' });
    leaveAll();
    expect(order).toEqual(['x', 'b1', 'a2']);
  });
});

describe('a call withdrawn while queued', () => {
  test('is never admitted, and never refused', () => {
    const { slots, clock, ask } = rig({ maxConcurrency: 1, queueTimeoutMs: 100 });
    const one = ask();
    const two = ask();
    const three = ask();
    two.place.withdraw();
    expect(slots.waiting).toBe(1);
    one.place.leave();
    expect(three.told).toEqual(['admitted']);
    clock.advance(1_000);
    expect(two.told).toEqual([]);
  });

  test('costs no search: a hundred thousand go in whatever order', () => {
    const { slots, ask, count } = rig({ maxConcurrency: 1, maxQueue: Infinity });
    ask();
    const calls = Array.from({ length: 100_000 }, (_, i) => ask({ scope: `s${i % 7}` }));
    const start = performance.now();
    for (const call of calls.reverse()) call.place.withdraw();
    expect(performance.now() - start).toBeLessThan(2_000);
    expect(slots.waiting).toBe(0);
    expect(count('admitted')).toBe(1);
  });

  test('was admitted already when it runs: then it has no effect', () => {
    const { slots, ask } = rig();
    const one = ask();
    one.place.withdraw();
    expect(slots.running).toBe(1);
  });
});

describe('the queue', () => {
  test('refuses what is beyond its bound, and says so', () => {
    const { ask } = rig({ maxConcurrency: 1, maxQueue: 2 });
    for (let i = 0; i < 3; i += 1) ask();
    expect(ask({ what: 'tool "scrape"' }).told).toEqual([
      'estop: tool "scrape" was not run: the queue holds 2 of 2 (maxQueue): try again later',
    ]);
  });

  test('full of the calls of one scope, makes room for another by the newest of the first', () => {
    const { slots, ask } = rig({ maxConcurrency: 1, maxQueue: 3 });
    ask();
    const [first, second, newest] = [ask({ scope: 'flood' }), ask({ scope: 'flood' }), ask({ scope: 'flood' })];
    const quiet = ask({ scope: 'quiet' });
    expect(newest.told).toEqual([
      'estop: flood was not run: the queue is full (maxQueue 3), its client has the most in it (3), and another client needed room',
    ]);
    expect([first.told, second.told, quiet.told]).toEqual([[], [], []]);
    expect(slots.waiting).toBe(3);
  });

  test('makes no room for a scope that has as many waiting calls as any', () => {
    const { ask } = rig({ maxConcurrency: 1, maxQueue: 2 });
    ask();
    const [a, b] = [ask({ scope: 'a' }), ask({ scope: 'b' })];
    expect(ask({ scope: 'a' }).told).toEqual([expect.stringContaining('maxQueue')]);
    expect([a.told, b.told]).toEqual([[], []]);
  });

  test('of length 0 lets nobody wait', () => {
    const { ask } = rig({ maxConcurrency: 1, maxQueue: 0 });
    ask();
    expect(ask({ scope: 'b' }).told).toEqual([expect.stringContaining('maxQueue')]);
  });
});

describe('the queue wait', () => {
  test('ends for each call its own time after its arrival', () => {
    const { clock, ask } = rig({ maxConcurrency: 1, queueTimeoutMs: 100 });
    ask();
    const one = ask();
    clock.advance(60);
    const two = ask();
    clock.advance(39);
    expect(one.told).toEqual([]);
    clock.advance(1);
    expect([one.told.length, two.told.length]).toEqual([1, 0]);
    clock.advance(60);
    expect(two.told.length).toBe(1);
  });

  test('names the mutex and its holder', () => {
    const { slots, clock, ask } = rig();
    const db = slots.mutex('db');
    const holder = ask({ what: 'tool "import"', gate: db });
    const one = ask({ what: 'tool "scrape"', gate: db });
    clock.advance(20_000);
    holder.place.abandon();
    const two = ask({ what: 'tool "read"', gate: db });
    clock.advance(10_000);
    expect(one.told).toEqual([
      'estop: tool "scrape" was not run: it waited for 30000 ms, and the mutex "db" is held by tool "import", which was answered but runs on',
    ]);
    holder.place.leave();
    expect(two.told).toEqual(['admitted']);
  });

  test.each([
    [{ maxConcurrency: 2 }, 'the server runs 2 of 2 (maxConcurrency)'],
    [{ maxConcurrencyPerScope: 2 }, 'its client runs 2 of 2 (maxConcurrencyPerScope)'],
    [{ tool: 2 }, 'the limit "scrape" runs 2 of 2'],
  ])('says how many run, with %o', ({ tool, ...limits }: SlotLimits & { tool?: number }, words) => {
    const { slots, clock, ask } = rig({ ...limits, queueTimeoutMs: 50 });
    const gate = slots.limit('scrape', tool ?? Infinity);
    for (let i = 0; i < 2; i += 1) ask({ gate });
    const waits = ask({ gate });
    clock.advance(50);
    expect(waits.told).toEqual([`estop: client was not run: it waited for 50 ms, and ${words}`]);
  });

  test('of 0 refuses at once what cannot start at once', () => {
    const { clock, ask } = rig({ maxConcurrency: 1, queueTimeoutMs: 0 });
    expect(ask().told).toEqual(['admitted']);
    expect(ask().told).toEqual([
      'estop: client was not run: it may not wait, and the server runs 1 of 1 (maxConcurrency)',
    ]);
    expect(clock.pending).toBe(0);
  });

  test('of Infinity has no timer', () => {
    const { slots, clock, ask } = rig({ maxConcurrency: 1, queueTimeoutMs: Infinity });
    ask();
    ask();
    expect(clock.pending).toBe(0);
    clock.advance(1e9);
    expect(slots.waiting).toBe(1);
  });

  test('longer than a timer can be is still kept', () => {
    const { slots, clock, ask } = rig({ maxConcurrency: 1, queueTimeoutMs: 2 ** 32 });
    ask();
    const waits = ask();
    clock.advance(2 ** 32 - 1);
    expect([clock.longest, slots.waiting]).toEqual([LONGEST_NODE_TIMER_MS, 1]);
    clock.advance(1);
    expect(waits.told.length).toBe(1);
  });

  test('has one timer however many wait, and no timer is left when nobody waits', () => {
    const { clock, ask, leaveAll } = rig({ maxConcurrency: 1 });
    ask();
    expect(clock.pending).toBe(0);
    const calls = [ask(), ask(), ask()];
    expect(clock.pending).toBe(1);
    calls[0]?.place.withdraw();
    expect(clock.pending).toBe(1);
    leaveAll();
    expect(clock.pending).toBe(0);
    ask();
    ask().place.withdraw();
    expect(clock.pending).toBe(0);
  });
});

describe('an abandoned call', () => {
  test('passes on its places in the limits of the server, its scope and its tool', () => {
    for (const limits of [{ maxConcurrency: 1 }, { maxConcurrencyPerScope: 1 }, {}]) {
      const { slots, ask } = rig(limits);
      const gate = slots.limit('scrape', 1);
      const one = ask({ gate });
      const two = ask({ gate });
      one.place.abandon();
      expect(two.told).toEqual(['admitted']);
      expect([slots.running, slots.abandoned]).toEqual([1, 1]);
      one.place.leave();
      expect([slots.running, slots.abandoned]).toEqual([1, 0]);
    }
  });

  test('the mutex stays shut while its answered holder runs on', () => {
    const { slots, ask } = rig({ maxConcurrency: 1 });
    const db = slots.mutex('db');
    const holder = ask({ gate: db });
    const behind = ask({ gate: db });
    const other = ask();
    holder.place.abandon();
    expect([behind.told, other.told]).toEqual([[], ['admitted']]);
    other.place.leave();
    expect(behind.told).toEqual([]);
    holder.place.leave();
    expect(behind.told).toEqual(['admitted']);
  });

  test('keeps its place when too many are abandoned, and passes it on when one that did not leaves, oldest first', () => {
    const { slots, ask, count } = rig({ maxConcurrency: 4, maxConcurrencyPerScope: 1, maxAbandoned: 1 });
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((scope) => ask({ scope }));
    const [, b2, c2, d2] = ['a', 'b', 'c', 'd'].map((scope) => ask({ scope }));
    for (const call of [a, b, c, d]) call?.place.abandon();
    expect([slots.abandoned, slots.running, count('admitted')]).toEqual([4, 4, 5]);
    a?.place.leave();
    expect([b2?.told, c2?.told, d2?.told]).toEqual([['admitted'], [], []]);
    d?.place.leave();
    expect([c2?.told, d2?.told]).toEqual([[], ['admitted']]);
    b?.place.leave();
    expect(c2?.told).toEqual(['admitted']);
  });

  test('beyond maxAbandoned has new calls refused, nested ones too, until one leaves', () => {
    const { slots, ask } = rig({ maxAbandoned: 2 });
    const parent = ask();
    const [one, two] = [ask(), ask()];
    one.place.abandon();
    expect(ask().told).toEqual(['admitted']);
    two.place.abandon();
    expect(slots.isOverloaded).toBe(true);
    expect(ask({ what: 'tool "scrape"' }).told).toEqual([
      'estop: tool "scrape" was not run: the server is overloaded by calls that were answered and run on, 2 of 2 (maxAbandoned): have their handlers end at their signal, or raise maxAbandoned',
    ]);
    expect(ask({ parent: parent.place }).told).toEqual([expect.stringContaining('maxAbandoned')]);
    two.place.leave();
    expect(ask().told).toEqual(['admitted']);
  });

  test.each([
    [{}, 100],
    [{ maxConcurrency: 3 }, 10],
    [{ maxConcurrency: 30 }, 30],
  ])('with %o overloads when there are %i', (limits, most) => {
    const { slots, ask } = rig(limits);
    for (let i = 0; i < most; i += 1) {
      expect(slots.isOverloaded).toBe(false);
      ask().place.abandon();
    }
    expect(slots.isOverloaded).toBe(true);
  });

  test('released by the operator opens its mutex, and counts until it leaves', () => {
    const { slots, ask } = rig();
    const db = slots.mutex('db');
    const holder = ask({ gate: db });
    const behind = ask({ gate: db });
    holder.place.abandon();
    expect(holder.place.release()).toBe(true);
    expect(behind.told).toEqual(['admitted']);
    expect(slots.abandoned).toBe(1);
    expect(holder.place.release()).toBe(false);
    holder.place.leave();
    expect(slots.abandoned).toBe(0);
    expect(ask({ gate: db }).told).toEqual([]);
  });

  test('released passes on also what it had to keep', () => {
    const { slots, ask } = rig({ maxConcurrency: 2, maxAbandoned: 1 });
    const [one, two] = [ask(), ask()];
    const [three, four] = [ask(), ask()];
    one.place.abandon();
    two.place.abandon();
    expect([three.told, four.told]).toEqual([['admitted'], []]);
    expect(two.place.release()).toBe(true);
    expect(four.told).toEqual(['admitted']);
    expect(slots.abandoned).toBe(2);
  });
});

describe('nested calls', () => {
  test("run on their root's place, siblings in parallel too", () => {
    const { slots, ask } = rig({ maxConcurrency: 1, maxConcurrencyPerScope: 1 });
    const parent = ask();
    const children = [ask({ parent: parent.place }), ask({ parent: parent.place })];
    expect(children.map(({ told }) => told)).toEqual([['admitted'], ['admitted']]);
    expect(ask({ parent: children[0]?.place }).told).toEqual(['admitted']);
    expect(slots.running).toBe(1);
  });

  test('run though their parent was abandoned and its place has passed on', () => {
    const { slots, ask } = rig({ maxConcurrency: 1 });
    const parent = ask();
    const waits = ask();
    parent.place.abandon();
    expect(waits.told).toEqual(['admitted']);
    expect(ask({ parent: parent.place }).told).toEqual(['admitted']);
    parent.place.leave();
    expect(ask({ parent: parent.place }).told).toEqual(['admitted']);
    expect(slots.running).toBe(1);
  });

  test('enter the mutex that an ancestor holds', () => {
    const { slots, ask } = rig();
    const db = slots.mutex('db');
    const root = ask({ gate: db });
    const child = ask({ parent: root.place });
    const grandchild = ask({ parent: child.place, gate: db });
    expect(grandchild.told).toEqual(['admitted']);
    expect(ask({ parent: grandchild.place, gate: db }).told).toEqual(['admitted']);
  });

  test('parallel siblings under a mutex run one after the other', () => {
    const { slots, ask } = rig();
    const db = slots.mutex('db');
    const root = ask({ gate: db });
    const outside = ask({ gate: db });
    const [one, two, three] = [1, 2, 3].map(() => ask({ parent: root.place, gate: db }));
    expect([one?.told, two?.told, three?.told]).toEqual([['admitted'], [], []]);
    one?.place.leave();
    expect([two?.told, three?.told]).toEqual([['admitted'], []]);
    two?.place.leave();
    expect(three?.told).toEqual(['admitted']);
    root.place.leave();
    expect(outside.told).toEqual([]);
    three?.place.leave();
    expect(outside.told).toEqual(['admitted']);
  });

  test('keep the mutex shut when the one that lent it to them leaves first', () => {
    const { slots, ask } = rig();
    const db = slots.mutex('db');
    const root = ask({ gate: db });
    const child = ask({ parent: root.place, gate: db });
    const grandchild = ask({ parent: child.place, gate: db });
    const outside = ask({ gate: db });
    root.place.leave();
    child.place.leave();
    expect(outside.told).toEqual([]);
    grandchild.place.leave();
    expect(outside.told).toEqual(['admitted']);
  });

  test('that are abandoned give what they borrowed in a limit back, and keep it in a mutex', () => {
    const { slots, ask } = rig();
    for (const [gate, told] of [
      [slots.limit('scrape', 1), ['admitted']],
      [slots.mutex('db'), []],
    ] as const) {
      const root = ask({ gate });
      const child = ask({ parent: root.place, gate });
      const sibling = ask({ parent: root.place, gate });
      const outside = ask({ gate });
      child.place.abandon();
      expect(sibling.told).toEqual(told);
      expect(outside.told).toEqual([]);
      child.place.leave();
      expect(sibling.told).toEqual(['admitted']);
    }
  });

  test('take a place of their own in a limit with room when what they could borrow is lent', () => {
    const { slots, ask } = rig();
    const scrape = slots.limit('scrape', 2);
    const root = ask({ gate: scrape });
    const children = [1, 2, 3].map(() => ask({ parent: root.place, gate: scrape }));
    expect(children.map(({ told }) => told)).toEqual([['admitted'], ['admitted'], []]);
    expect(scrape.running).toBe(2);
  });

  test('come before all others at a gate', () => {
    const { slots, ask } = rig();
    const db = slots.mutex('db');
    const holder = ask({ gate: db });
    const outside = ask({ gate: db });
    const nested = ask({ parent: ask().place, gate: db });
    holder.place.leave();
    expect([nested.told, outside.told]).toEqual([['admitted'], []]);
  });

  test('are told who of their siblings holds the mutex', () => {
    const { slots, clock, ask } = rig();
    const db = slots.mutex('db');
    const root = ask({ what: 'tool "root"', gate: db });
    ask({ what: 'tool "sibling"', parent: root.place, gate: db });
    const waits = ask({ parent: root.place, gate: db });
    clock.advance(30_000);
    expect(waits.told).toEqual([expect.stringContaining('the mutex "db" is held by tool "sibling"')]);
  });
});

describe('gates', () => {
  test('of one name are one, and a limit and a mutex of one name are two', () => {
    const { slots } = rig();
    expect(slots.mutex('x')).toBe(slots.mutex('x'));
    expect(slots.limit('x', 3)).toBe(slots.limit('x', 3));
    expect(slots.limit('x', 3)).not.toBe(slots.mutex('x'));
  });

  test('of one name with two numbers are an error that says so', () => {
    const { slots } = rig();
    slots.limit('scrape', 3);
    expect(() => slots.limit('scrape', 4)).toThrow(
      new RangeError('estop: the limit "scrape" cannot be both 3 and 4: give it one number'),
    );
  });
});

describe('limits', () => {
  test.each([
    [{ maxConcurrency: 0 }, 'maxConcurrency must be an integer >= 1 or Infinity, got 0'],
    [{ maxConcurrencyPerScope: 1.5 }, 'maxConcurrencyPerScope must be an integer >= 1 or Infinity, got 1.5'],
    [{ maxQueue: -1 }, 'maxQueue must be an integer >= 0 or Infinity, got -1'],
    [{ maxAbandoned: 0 }, 'maxAbandoned must be an integer >= 1 or Infinity, got 0'],
    [{ queueTimeoutMs: NaN }, 'queueTimeoutMs must be a number of milliseconds >= 0, got NaN'],
    [{ queueTimeoutMs: '5' }, 'queueTimeoutMs must be a number of milliseconds >= 0, got "5"'],
    [{ maxConcurrency: null }, 'maxConcurrency must be an integer >= 1 or Infinity, got null'],
  ])('%o is an error that names it', (limits, message) => {
    expect(() => new Slots(new VirtualClock(), limits as SlotLimits)).toThrow(new RangeError(`estop: ${message}`));
  });

  test("a tool's is checked too", () => {
    expect(() => rig().slots.limit('scrape', 0)).toThrow(
      'estop: the limit "scrape" must be an integer >= 1 or Infinity, got 0',
    );
  });
});

describe('any order', () => {
  test('what was done once has no effect a second time, nor after the end', () => {
    const { slots, ask } = rig({ maxConcurrency: 1, maxAbandoned: 5 });
    const one = ask({ gate: slots.mutex('db') });
    for (const act of ['abandon', 'abandon', 'withdraw', 'leave', 'leave', 'abandon', 'release', 'withdraw'] as const) {
      one.place[act]();
    }
    expect([slots.running, slots.abandoned, slots.waiting]).toEqual([0, 0, 0]);
    expect(ask({ gate: slots.mutex('db') }).told).toEqual(['admitted']);
  });

  test('a call that waits cannot be abandoned or released, and leaves as if withdrawn', () => {
    const { slots, ask } = rig({ maxConcurrency: 1 });
    const one = ask();
    const two = ask();
    two.place.abandon();
    expect(two.place.release()).toBe(false);
    expect([slots.abandoned, slots.waiting]).toEqual([0, 1]);
    two.place.leave();
    one.place.leave();
    expect([two.told, slots.running, slots.waiting]).toEqual([[], 0, 0]);
  });
});

describe('calling back', () => {
  test('a chain of a hundred thousand calls that leave when admitted does not deepen the stack', () => {
    const { slots, ask, count } = rig({ maxConcurrency: 1, maxQueue: Infinity });
    const first = ask();
    for (let i = 0; i < 100_000; i += 1) ask({ scope: `s${i % 3}`, admitted: (place) => place.leave() });
    first.place.leave();
    expect([count('admitted'), slots.running, slots.waiting]).toEqual([100_001, 0, 0]);
  });

  test('of several that start together, one may stop the next before it is told: then that one is told nothing', () => {
    for (const act of ['withdraw', 'leave'] as const) {
      const { slots, ask } = rig({ maxConcurrency: 2, maxConcurrencyPerScope: 1 });
      const gate = slots.limit('scrape', 1);
      const big = ask({ scope: 'x', gate });
      const other = ask({ scope: 'y', gate, admitted: () => victim.place[act]() });
      const victim = ask({ scope: 'x' });
      big.place.leave();
      expect([other.told, victim.told]).toEqual([['admitted'], []]);
      expect([slots.running, slots.waiting, slots.scopes]).toEqual([1, 0, 1]);
    }
  });

  test('a request within admitted takes only what is free, and overtakes nobody who could have started', () => {
    const { ask, order, slots } = rig({ maxConcurrency: 2 });
    const [one, two] = [ask({ what: '1' }), ask({ what: '2' })];
    ask({ what: '3', admitted: () => ask({ what: 'late' }) });
    ask({ what: '4' });
    one.place.leave();
    two.place.leave();
    expect(order).toEqual(['1', '2', '3', '4']);
    expect([slots.running, slots.waiting]).toEqual([2, 1]);
  });

  test('a throw of one that is told reaches who set it off, and nobody else misses anything', () => {
    const { slots, ask, clock } = rig({ maxConcurrency: 1, queueTimeoutMs: 10 });
    const one = ask();
    const two = ask({ refused: () => expect.fail('mine') });
    const three = ask();
    expect(() => clock.advance(10)).toThrow('mine');
    expect([two.told.length, three.told.length]).toEqual([1, 1]);
    const four = ask({
      admitted: () => {
        throw new Error('mine too');
      },
    });
    expect(() => one.place.leave()).toThrow('mine too');
    expect(slots.running).toBe(1);
    four.place.leave();
    expect(ask().told).toEqual(['admitted']);
  });
});

test('a scope without a name is one like any other: it is not forgotten because calls without a limit leave', () => {
  const { slots, ask } = rig({});
  const gate = slots.limit('scrape', 1);
  const [runs, waits] = [ask({ scope: '', gate }), ask({ scope: '', gate })];
  ask({ scope: 'a' }).place.leave();
  expect(slots.scopes).toBe(1);
  runs.place.leave();
  expect(waits.told).toEqual(['admitted']);
  waits.place.leave();
  expect(slots.scopes).toBe(0);
});

test('a scope of which nobody runs or waits is forgotten, however it went', () => {
  for (const limits of [{ maxConcurrencyPerScope: 1 }, {}]) {
    const { slots, clock, ask } = rig({ ...limits, maxConcurrency: 2, maxQueue: 3, maxAbandoned: Infinity });
    const runs = [ask({ scope: 'a' }), ask({ scope: 'b' })];
    const waits = [ask({ scope: 'c' }), ask({ scope: 'c' }), ask({ scope: 'd' })];
    ask({ scope: 'e' });
    expect(slots.scopes).toBeGreaterThanOrEqual(3);
    waits[0]?.place.withdraw();
    runs[0]?.place.abandon();
    runs[1]?.place.leave();
    ask({ scope: 'f' });
    clock.advance(30_000);
    for (const { place } of [...runs, ...waits]) place.leave();
    expect(slots.scopes).toBe(slots.running);
  }
});

interface Asked {
  readonly scope?: string;
  readonly what?: string;
  readonly gate?: Gate;
  readonly parent?: Place | undefined;
  readonly admitted?: (place: Place) => void;
  readonly refused?: () => void;
}

interface Caller {
  readonly place: Place;
  /** `admitted`, or the message of its refusal: each time that it was told anything. */
  readonly told: string[];
}

interface Rig {
  readonly slots: Slots;
  readonly clock: VirtualClock;
  ask(asked?: Asked): Caller;
  /** What was admitted, by its `what`, in order. */
  readonly order: string[];
  /** Leaves with whoever runs, until nobody does. */
  leaveAll(): void;
  count(told: string): number;
}

function rig(limits: SlotLimits = {}): Rig {
  const clock = new VirtualClock();
  const slots = new Slots(clock, limits);
  const order: string[] = [];
  const callers: Caller[] = [];
  const ask = ({ scope = 'client', what = scope, gate, parent, ...heard }: Asked = {}): Caller => {
    const told: string[] = [];
    const user: SlotUser = {
      scope,
      what,
      admitted: (place) => {
        told.push('admitted');
        order.push(what);
        heard.admitted?.(place);
      },
      refused: (message) => {
        told.push(message);
        heard.refused?.();
      },
    };
    const caller = { told, place: slots.request(user, gate, parent) };
    callers.push(caller);
    return caller;
  };
  const running = (): Caller[] => callers.filter(({ place }) => place.state === 'running');
  return {
    slots,
    clock,
    ask,
    order,
    leaveAll: () => {
      for (let now = running(); now.length > 0; now = running()) for (const { place } of now) place.leave();
    },
    count: (word) => callers.filter(({ told }) => told.includes(word)).length,
  };
}
