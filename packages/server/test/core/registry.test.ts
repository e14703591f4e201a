import { type Call, type CallInit, cancelled, Engine, isValidRequestId } from '@estop/server/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { randomOf } from '../support/random.ts';
import { answerOf, type Rig, rig } from '../support/rig.ts';
import { turn, turns } from '../support/waiting.ts';

const HERE = 'connection:1';
const THERE = 'connection:2';

describe('ids', () => {
  test.each([
    [7, '7'],
    ['7', 7],
    [0, ''],
    ['', 0],
    [0, '0'],
  ])('a cancel of %j stops that call and not the one with %j', (id, other) => {
    const { engine, start } = rig();
    const named = start(Infinity, { id }).call;
    const notNamed = start(Infinity, { id: other }).call;
    expect(engine.registry.cancel(HERE, id, cancelled('client'))).toEqual({ stopped: 1 });
    expect(named.isCancelled).toBe(true);
    expect(notNamed.isCancelled).toBe(false);
  });

  test('256 bytes make an id, 257 do not, and it is bytes that are counted, not characters', () => {
    expect(isValidRequestId('a'.repeat(256))).toBe(true);
    expect(isValidRequestId('a'.repeat(257))).toBe(false);
    expect(isValidRequestId('ä'.repeat(128))).toBe(true);
    expect(isValidRequestId('ä'.repeat(129))).toBe(false);
    expect(isValidRequestId('😀'.repeat(64))).toBe(true);
    expect(isValidRequestId('😀'.repeat(65))).toBe(false);
    expect(isValidRequestId('€'.repeat(85))).toBe(true);
    expect(isValidRequestId('€'.repeat(86))).toBe(false);
  });

  test('a string is an id exactly when its UTF-8 has at most 256 bytes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (id) => {
        expect(isValidRequestId(id)).toBe(Buffer.byteLength(id) <= 256);
      }),
    );
  });

  test.each([1.5, NaN, Infinity, -Infinity, null, undefined, true, {}, [], [7], 7n, Symbol('7')])(
    '%o is no id: its cancel is refused and counted, and stops nothing',
    (id) => {
      const { engine, start } = rig();
      const { call } = start(Infinity, { id });
      expect(engine.registry.cancel(HERE, id, cancelled('client'))).toEqual({ refused: 'invalid_request_id' });
      expect(engine.registry.isInFlight(HERE, id)).toBe(false);
      expect(call.isCancelled).toBe(false);
      expect(engine.stats()).toMatchObject({ ignoredCancels: 1, inFlight: 1 });
    },
  );

  test('a call with an unusable id runs, counts, and leaves like any other', async () => {
    const { engine, start, left } = rig();
    const id = {};
    const one = start(Infinity, { id });
    const two = start(Infinity, { id });
    one.returns('value');
    await turns();
    expect(one.answer).toEqual({ times: 1, value: 'value' });
    expect(left).toEqual([one.call]);
    expect(engine.stats().inFlight).toBe(1);
    two.returns();
    await turns();
    expect(engine.stats().inFlight).toBe(0);
  });

  test('no value whatever as an id makes an exception', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withDate: true, withNullPrototype: true, withMap: true }), (id) => {
        const { registry } = new Engine();
        registry.cancel(HERE, id, cancelled('client'));
        registry.isInFlight(HERE, id);
        registry.isCancelled(HERE, id);
        registry.reasonOf(HERE, id);
        const call = new Engine().begin({ scope: HERE, id, method: 'tools/call', name: undefined });
        call.discard();
      }),
      { numRuns: 1_000 },
    );
  });

  test('nor does any value as the scope of a cancel, such as the name of an object property', () => {
    const { registry } = new Engine();
    for (const scope of ['__proto__', 'constructor', '']) {
      expect(registry.cancel(scope, '__proto__', cancelled('client'))).toEqual({ ignored: 'unknown' });
    }
  });
});

describe('scopes', () => {
  test('a cancel in one scope stops nothing in another, and is counted as ignored', () => {
    const { engine, start } = rig();
    const { call } = start(Infinity, { scope: THERE, id: 1 });
    expect(engine.registry.cancel(HERE, 1, cancelled('client'))).toEqual({ ignored: 'unknown' });
    expect(call.isCancelled).toBe(false);
    expect(engine.stats().ignoredCancels).toBe(1);
  });

  test('the end of a scope stops all that is in it, and nothing else', () => {
    const { engine, start, arrive } = rig();
    const running = start(Infinity, { scope: HERE, id: 1 }).call;
    const queued = arrive({ scope: HERE, id: 2 });
    const other = start(Infinity, { scope: THERE, id: 1 }).call;
    engine.registry.stopScope(HERE, cancelled('library'));
    expect([running.state, queued.state, other.state]).toEqual(['stopping', 'refused', 'running']);
  });

  test('100 000 random cancels between scopes with colliding ids stop exactly the calls that they name', async () => {
    const random = randomOf(20_261_130);
    const scopes = [HERE, THERE, 'connection:11', 'session:1', 'principal:1', 'ip:1'];
    const ids = [0, 1, '0', '1', '', 11, '11', null];
    const { engine, arrive } = rig();
    const begin = (init: Partial<CallInit>): Call => {
      const call = arrive(init);
      // Some wait to be run, some run, and end at their signal.
      const handler = () => new Promise<void>((resolve) => void call.onStop(() => resolve()));
      if (random.oneIn(2)) answerOf(call.run(handler, { timeoutMs: Infinity }));
      return call;
    };
    let calls: Call[] = [];
    let stopped = 0;
    for (let round = 0; round < 100_000; round += 1) {
      while (calls.length < 12) calls.push(begin({ scope: random.of(scopes), id: random.of(ids) }));
      const scope = random.of(scopes);
      const id = random.of(ids);
      const named = calls.filter((call) => id !== null && call.scope === scope && call.id === id);
      // Where clients may share a scope, two of them may have the same id: then nobody is named.
      const meant = named.length > 1 && /^(principal|ip):/.test(scope) ? [] : named;
      engine.registry.cancel(scope, id, cancelled('client'));
      const hit = calls.filter((call) => call.isCancelled);
      if (hit.length !== meant.length || hit.some((call) => !meant.includes(call))) {
        expect.fail(
          `round ${round}: ${scope} ${JSON.stringify(id)} stopped ${hit.map((call) => [call.scope, call.id])}`,
        );
      }
      stopped += hit.length;
      calls = calls.filter((call) => !call.isCancelled);
      // Some that nobody means go too, so that ambiguous ones do not fill the table.
      for (const call of calls.splice(0, random.below(2))) call.stop(cancelled('library'));
      if (round % 50 === 0) await turn();
    }
    expect(stopped).toBeGreaterThan(10_000);
    for (const call of calls) call.stop(cancelled('library'));
    await turn();
    expect(engine.stats().inFlight).toBe(0);
  });
});

describe('namesakes: two calls in flight with one id', () => {
  test('a cancel of the id stops both', () => {
    const { engine, one, two } = namesakes();
    expect(engine.registry.cancel(HERE, 7, cancelled('client'))).toEqual({ stopped: 2 });
    expect([one.call.isCancelled, two.call.isCancelled]).toEqual([true, true]);
  });

  test('one that finishes first does not take the cancel of the other', async () => {
    for (const [first, second] of [
      ['one', 'two'],
      ['two', 'one'],
    ] as const) {
      const { engine, ...calls } = namesakes();
      calls[first].returns();
      await turns();
      expect(engine.registry.isInFlight(HERE, 7)).toBe(true);
      expect(engine.registry.cancel(HERE, 7, cancelled('client'))).toEqual({ stopped: 1 });
      expect(calls[second].call.isCancelled).toBe(true);
    }
  });

  test('a third is not lost when the second of them ends', async () => {
    const { engine, one, two, start } = namesakes();
    const three = start(Infinity, { id: 7 });
    two.returns();
    await turns();
    expect(engine.stats().inFlight).toBe(2);
    expect(engine.registry.cancel(HERE, 7, cancelled('client'))).toEqual({ stopped: 2 });
    expect([one.call.state, two.call.state, three.call.state]).toEqual(['stopping', 'completed', 'stopping']);
  });

  test('an abandoned one that still counts does not stand for a new one: only the new one is stopped', async () => {
    const { engine, clock, start } = rig();
    const old = start(50, { id: 7 });
    clock.advance(50);
    const fresh = start(Infinity, { id: 7 });
    expect(engine.registry.cancel(HERE, 7, cancelled('client'))).toEqual({ stopped: 1 });
    expect(old.call.reason?.kind).toBe('deadline');
    expect(fresh.call.reason?.kind).toBe('cancelled');
  });

  test('may be many, and each leaves alone', async () => {
    const { engine, arrive } = rig();
    const calls = Array.from({ length: 20_000 }, () => arrive({ id: 7 }));
    for (const call of calls) call.discard();
    expect(engine.registry.size).toBe(0);
    expect(engine.registry.calls()).toEqual([]);
  });

  function namesakes(): Rig & Record<'one' | 'two', ReturnType<Rig['start']>> {
    const made = rig();
    return { ...made, one: made.start(Infinity, { id: 7 }), two: made.start(Infinity, { id: 7 }) };
  }
});

describe('a cancel that names nothing in flight', () => {
  test('is ignored and counted, and a later call with that id is not touched', async () => {
    const { engine, start } = rig();
    expect(engine.registry.cancel(HERE, 1, cancelled('client'))).toEqual({ ignored: 'unknown' });
    const { call, answer, returns } = start(Infinity, { id: 1 });
    returns('value');
    await turns();
    expect(call.state).toBe('completed');
    expect(answer.value).toBe('value');
    expect(engine.stats().ignoredCancels).toBe(1);
  });

  test('is ignored for a call that was answered', async () => {
    const { engine, start } = rig();
    const { call, returns } = start();
    returns();
    await turns();
    expect(engine.registry.cancel(HERE, 1, cancelled('client'))).toEqual({ ignored: 'unknown' });
    expect(call.reason).toBeUndefined();
    expect(engine.stats().ignoredCancels).toBe(1);
  });

  test('is ignored for a call that was stopped, though its row is still there', async () => {
    const { engine, clock, start } = rig();
    const { call } = start(50);
    clock.advance(50);
    expect(engine.registry.isInFlight(HERE, 1)).toBe(false);
    expect(engine.registry.isCancelled(HERE, 1)).toBe(true);
    expect(engine.registry.reasonOf(HERE, 1)).toBe(call.reason);
    expect(engine.registry.cancel(HERE, 1, cancelled('client'))).toEqual({ ignored: 'unknown' });
    expect(call.reason?.kind).toBe('deadline');
    expect(engine.stats()).toMatchObject({ ignoredCancels: 1, inFlight: 1 });
  });
});

test('a call that waits to be run can be cancelled, and is in flight', () => {
  const { engine, arrive } = rig();
  const call = arrive({ id: 3 });
  expect(engine.registry.isInFlight(HERE, 3)).toBe(true);
  engine.registry.cancel(HERE, 3, cancelled('client'));
  expect(call.state).toBe('refused');
  expect(engine.registry.isInFlight(HERE, 3)).toBe(false);
});

test('a call is taken out once: a second time there is nothing to take out', () => {
  const { engine, arrive } = rig();
  const call = arrive();
  expect(engine.registry.untrack(call)).toBe(true);
  expect(engine.registry.untrack(call)).toBe(false);
  expect(engine.registry.size).toBe(0);
});

test('the list of calls is a copy: a stop during a walk over it skips nobody', () => {
  const { engine, arrive } = rig();
  const calls = [1, 2, 3].map((id) => arrive({ id }));
  for (const call of engine.registry.calls()) call.stop(cancelled('library'));
  expect(calls.map(({ state }) => state)).toEqual(['refused', 'refused', 'refused']);
});

describe('a library caller records a cancel', () => {
  test('of calls in flight: it stops every one of them, and nothing waits', () => {
    const { engine, start, arrive } = rig();
    const running = [start(Infinity, { id: 7 }).call, start(Infinity, { id: 7 }).call];
    const queued = arrive({ id: 7 });
    const others = [start(Infinity, { id: '7' }).call, start(Infinity, { id: 7, scope: THERE }).call];
    const reason = cancelled('library');
    expect(engine.registry.record(HERE, 7, reason)).toEqual({ stopped: 3 });
    for (const call of [...running, queued]) expect(call.reason).toBe(reason);
    for (const call of others) expect(call.isCancelled).toBe(false);
    expect(engine.stats().recorded).toBe(0);
  });

  test('of a call that is to come: that one never starts its handler, and has the reason', async () => {
    const { engine, start, arrive, left } = rig();
    const reason = cancelled('library');
    expect(engine.registry.record(HERE, 7, reason)).toEqual({ recorded: true });
    expect(engine.stats().recorded).toBe(1);
    const call = arrive({ id: 7 });
    let started = false;
    const ran = call.run(
      () => {
        started = true;
      },
      { timeoutMs: Infinity },
    );
    await expect(ran).rejects.toBe(reason);
    expect([started, call.state, left]).toEqual([false, 'refused', [call]]);
    expect(engine.stats()).toMatchObject({ recorded: 0, inFlight: 0 });
    expect(start(Infinity, { id: 7 }).call.state).toBe('running');
  });

  test('and no call with another id, of another type, or in another scope takes it', () => {
    const { engine, start } = rig();
    engine.registry.record(HERE, 7, cancelled('library'));
    for (const init of [{ id: '7' }, { id: 8 }, { id: 7, scope: THERE }, { id: undefined }]) {
      expect(start(Infinity, init).call.state).toBe('running');
    }
    expect(engine.stats().recorded).toBe(1);
    expect(start(Infinity, { id: 7 }).call.state).toBe('refused');
  });

  test('that waits until its TTL is over, and not longer', () => {
    for (const [ms, state] of [
      [299_999, 'refused'],
      [300_000, 'running'],
    ] as const) {
      const { engine, clock, start } = rig();
      engine.registry.record(HERE, 7, cancelled('library'));
      clock.advance(ms);
      expect(engine.registry.isCancelled(HERE, 7)).toBe(state === 'refused');
      expect(start(Infinity, { id: 7 }).call.state).toBe(state);
    }
  });

  test('that waits: it can be seen, with its reason, and no call is in flight', () => {
    const { engine } = rig();
    const reason = cancelled('library');
    engine.registry.record(HERE, 7, reason);
    expect(engine.registry.isCancelled(HERE, 7)).toBe(true);
    expect(engine.registry.reasonOf(HERE, 7)).toBe(reason);
    expect(engine.registry.isInFlight(HERE, 7)).toBe(false);
    expect(engine.registry.isCancelled(HERE, '7')).toBe(false);
    expect(engine.registry.isCancelled(THERE, 7)).toBe(false);
  });

  test('that waits: it can be taken back, once', () => {
    const { engine, start } = rig();
    engine.registry.record(HERE, 7, cancelled('library'));
    expect(engine.registry.clear(HERE, '7')).toBe(false);
    expect(engine.registry.clear(HERE, 7)).toBe(true);
    expect(engine.registry.clear(HERE, 7)).toBe(false);
    expect(start(Infinity, { id: 7 }).call.state).toBe('running');
  });

  test('of a live call: that cannot be taken back', () => {
    const { engine, start } = rig();
    const { call } = start(Infinity, { id: 7 });
    engine.registry.record(HERE, 7, cancelled('library'));
    expect(engine.registry.clear(HERE, 7)).toBe(false);
    expect(call.isCancelled).toBe(true);
    expect(engine.registry.isCancelled(HERE, 7)).toBe(true);
  });

  test('of a call that was answered or stopped: it waits for the next one with its id', async () => {
    const { engine, clock, start } = rig();
    start(50, { id: 7 });
    clock.advance(50);
    expect(engine.registry.record(HERE, 7, cancelled('library'))).toEqual({ recorded: true });
    expect(start(Infinity, { id: 7 }).call.state).toBe('refused');
  });

  test.each([undefined, null, {}, 1.5, 'x'.repeat(257)])('of %o: refused, and nothing waits', (id) => {
    const { engine } = rig();
    expect(engine.registry.record(HERE, id, cancelled('library'))).toEqual({ refused: 'invalid_request_id' });
    expect(engine.registry.clear(HERE, id)).toBe(false);
    expect(engine.stats()).toMatchObject({ recorded: 0, ignoredCancels: 0 });
  });

  test('beyond the quota of its scope: refused, and other scopes have theirs', () => {
    const { engine } = rig({ recorded: { maxPerScope: 2 } });
    const record = (scope: string, id: number) => engine.registry.record(scope, id, cancelled('library'));
    expect([record(HERE, 1), record(HERE, 2)]).toEqual([{ recorded: true }, { recorded: true }]);
    expect(record(HERE, 3)).toEqual({ refused: 'cancellation_limit_reached' });
    expect(record(HERE, 1)).toEqual({ recorded: true });
    expect(record(THERE, 3)).toEqual({ recorded: true });
    expect(engine.stats().recorded).toBe(3);
  });

  test('beyond the bound of all: never refused, and the oldest of the largest scope make room', () => {
    const { engine } = rig({ recorded: { max: 4 } });
    for (const [scope, id] of [
      [HERE, 1],
      [THERE, 1],
      [HERE, 2],
      [HERE, 3],
      [THERE, 2],
    ] as const) {
      expect(engine.registry.record(scope, id, cancelled('library'))).toEqual({ recorded: true });
    }
    expect([1, 2, 3].map((id) => engine.registry.isCancelled(HERE, id))).toEqual([false, true, true]);
    expect([1, 2].map((id) => engine.registry.isCancelled(THERE, id))).toEqual([true, true]);
    expect(engine.stats().recorded).toBe(4);
  });
});

describe("a live call's cancel", () => {
  test('counts toward no bound: it is never refused, however many wait', () => {
    const { engine, start } = rig({ recorded: { maxPerScope: 1, max: 1 } });
    engine.registry.record(HERE, 'waits', cancelled('library'));
    const calls = [1, 2, 3].map((id) => start(Infinity, { id }).call);
    expect(engine.registry.cancel(HERE, 1, cancelled('client'))).toEqual({ stopped: 1 });
    expect(engine.registry.record(HERE, 2, cancelled('library'))).toEqual({ stopped: 1 });
    expect(engine.registry.record(HERE, 3, cancelled('library'))).toEqual({ stopped: 1 });
    expect(calls.every((call) => call.isCancelled)).toBe(true);
    expect(engine.stats().recorded).toBe(1);
    expect(engine.registry.isCancelled(HERE, 'waits')).toBe(true);
  });

  test('never expires: it is not lost to a TTL, whatever is swept', () => {
    const { engine, clock, start } = rig({ recorded: { ttlMs: 10 } });
    const { call } = start(Infinity, { id: 7 });
    const reason = cancelled('client');
    engine.registry.cancel(HERE, 7, reason);
    clock.advance(1_000_000);
    engine.cleanup();
    expect(call.signal.reason).toBe(reason);
    expect(engine.registry.reasonOf(HERE, 7)).toBe(reason);
  });

  test('is never evicted: a thousand others do not take it away', () => {
    const { engine, start } = rig({ recorded: { max: 20, maxPerScope: Infinity } });
    const { call } = start(Infinity, { id: 7 });
    engine.registry.cancel(HERE, 7, cancelled('client'));
    for (let id = 100; id < 1_100; id += 1) engine.registry.record(HERE, id, cancelled('library'));
    expect(call.isCancelled).toBe(true);
    expect(engine.registry.isCancelled(HERE, 7)).toBe(true);
  });

  test('reaches a call that has been in flight for longer than any TTL', () => {
    const { engine, clock, start } = rig({ recorded: { ttlMs: 10 } });
    const { call } = start(Infinity, { id: 7 });
    clock.advance(1_000_000);
    engine.cleanup();
    expect(engine.registry.cancel(HERE, 7, cancelled('client'))).toEqual({ stopped: 1 });
    expect(call.isCancelled).toBe(true);
  });
});

describe('a cancel over the wire', () => {
  test('is never recorded: a call that comes a moment later is not touched', () => {
    const { engine, start } = rig();
    engine.registry.cancel(HERE, 7, cancelled('client'));
    expect(engine.stats().recorded).toBe(0);
    expect(start(Infinity, { id: 7 }).call.state).toBe('running');
  });

  test('takes no recorded one away', () => {
    const { engine, start } = rig();
    engine.registry.record(HERE, 7, cancelled('library'));
    expect(engine.registry.cancel(HERE, 7, cancelled('client'))).toEqual({ ignored: 'unknown' });
    expect(start(Infinity, { id: 7 }).call.state).toBe('refused');
  });

  test('has no quota by which one client could stop the cancels of another', () => {
    const { engine, start } = rig({ recorded: { maxPerScope: 1, max: 1 } });
    const { call } = start(Infinity, { scope: THERE, id: 7 });
    for (let id = 0; id < 20_000; id += 1) engine.registry.cancel(HERE, id, cancelled('client'));
    for (let id = 0; id < 300; id += 1) engine.registry.record(HERE, id, cancelled('library'));
    expect(engine.registry.cancel(THERE, 7, cancelled('client'))).toEqual({ stopped: 1 });
    expect(call.isCancelled).toBe(true);
  });

  test.each(['principal:ada', 'ip:192.0.2.1'])(
    'that matches several calls stops none in %s, which clients may share, and says ambiguous',
    (scope) => {
      const { engine, start } = rig();
      const [one, two] = [start(Infinity, { scope, id: 7 }), start(Infinity, { scope, id: 7 })];
      expect(engine.registry.cancel(scope, 7, cancelled('client'))).toEqual({ ignored: 'ambiguous' });
      expect([one.call.isCancelled, two.call.isCancelled]).toEqual([false, false]);
      expect(engine.stats().ignoredCancels).toBe(1);
      expect(engine.registry.record(scope, 7, cancelled('library'))).toEqual({ stopped: 2 });
    },
  );

  test.each(['session:1', 'connection:1'])(
    'that matches several calls stops all in %s, which one client has',
    (scope) => {
      const { engine, start } = rig();
      const calls = [start(Infinity, { scope, id: 7 }).call, start(Infinity, { scope, id: 7 }).call];
      expect(engine.registry.cancel(scope, 7, cancelled('client'))).toEqual({ stopped: 2 });
      expect(calls.every((call) => call.isCancelled)).toBe(true);
    },
  );

  test('is no longer ambiguous when all but one were answered or stopped', async () => {
    const { engine, start, clock } = rig();
    const scope = 'principal:ada';
    const deaf = start(50, { scope, id: 7 });
    const answered = start(Infinity, { scope, id: 7 });
    const { call } = start(Infinity, { scope, id: 7 });
    clock.advance(50);
    answered.returns();
    await turns();
    expect(engine.registry.cancel(scope, 7, cancelled('client'))).toEqual({ stopped: 1 });
    expect(call.reason?.kind).toBe('cancelled');
    expect(deaf.call.reason?.kind).toBe('deadline');
  });
});
