import { type Call, cancelled, Engine, isValidRequestId } from '@estop/server/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Rig, rig } from '../support/rig.ts';
import { turns } from '../support/waiting.ts';

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

  test('random cancels with colliding ids stop exactly the calls that they name', () => {
    const scope = fc.constantFrom(HERE, THERE, 'connection:11', '');
    const id = fc.constantFrom<unknown>(0, 1, '0', '1', '', 11, null);
    const row = fc.record({ scope, id });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 12 }), fc.array(row, { maxLength: 6 }), (calls, cancels) => {
        const { engine, start } = rig();
        const started = calls.map((init) => start(Infinity, init).call);
        for (const { scope, id } of cancels) engine.registry.cancel(scope, id, cancelled('client'));
        const named = (call: Call): boolean =>
          call.id !== null && cancels.some(({ scope, id }) => scope === call.scope && id === call.id);
        for (const call of started) expect(call.isCancelled).toBe(named(call));
      }),
      { numRuns: 2_000 },
    );
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
