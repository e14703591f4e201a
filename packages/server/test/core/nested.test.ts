import { type Call, cancelled, disconnected, type Engine, type RunOptions, type StopReason } from '@estop/server/core';
import { describe, expect, test } from 'vitest';
import { HeldWork } from '../support/held-work.ts';
import { processEvents } from '../support/process-events.ts';
import { answerOf, GRACE_MS, type Running, rig } from '../support/rig.ts';
import { latch, turns } from '../support/waiting.ts';

/** Longer than any wait of two ladders. */
const LADDER_MS = 2 * GRACE_MS + 5_000;

describe('a nested call', () => {
  test('is a call like any other: answered, counted, with a row and a deadline of its own, and gone at its end', async () => {
    const { engine, clock, start } = rig();
    const parent = start();
    const child = startNested(engine, parent.call, 50);
    expect(child.call).toMatchObject({ parent: parent.call, scope: parent.call.scope, id: undefined, name: 'nested' });
    expect(engine.stats()).toMatchObject({ running: 2, inFlight: 2 });
    expect(engine.registry.size).toBe(2);
    clock.advance(50);
    await turns();
    expect(child.answer.error).toMatchObject({
      kind: 'deadline',
      message: 'tool "nested" reached its deadline of 50 ms',
    });
    expect(parent.call.state).toBe('running');
    child.returns();
    await turns();
    expect(engine.stats()).toMatchObject({ running: 1, inFlight: 1 });
  });

  test('answers its caller with what its handler returned or threw', async () => {
    const { engine, start } = rig();
    const { call } = start();
    const [well, badly] = [startNested(engine, call), startNested(engine, call)];
    const error = new Error('mine');
    well.returns('value');
    badly.throws(error);
    await turns();
    expect([well.answer, badly.answer]).toEqual([
      { times: 1, value: 'value' },
      { times: 1, error },
    ]);
    expect(call.state).toBe('running');
  });

  test("has no id: its caller's id names its caller alone", () => {
    const { engine, start } = rig();
    const { call } = start(Infinity, { scope: 'principal:1', id: 7 });
    const child = startNested(engine, call);
    expect(engine.registry.cancel('principal:1', undefined, cancelled('client'))).toEqual({
      refused: 'invalid_request_id',
    });
    expect(engine.registry.cancel('principal:1', 7, cancelled('client'))).toEqual({ stopped: 1 });
    expect(child.call.isCancelled).toBe(true);
  });
});

describe("its caller's stop", () => {
  test('is its stop, with the very same reason, before stop() returns, however deep it is', () => {
    const { engine, start } = rig();
    const { call } = start();
    const child = startNested(engine, call).call;
    const grandchild = startNested(engine, child).call;
    const heard: unknown[] = [];
    for (const nested of [child, grandchild])
      nested.signal.addEventListener('abort', () => heard.push(nested.signal.reason));
    const reason = cancelled('client');
    call.stop(reason);
    expect(heard).toEqual([reason, reason]);
    expect(child.reason).toBe(reason);
    expect(grandchild.reason).toBe(reason);
  });

  test('reaches it by deadline too', () => {
    const { engine, clock, start } = rig();
    const { call } = start(50);
    const child = startNested(engine, call);
    clock.advance(50);
    expect(child.call.reason).toBe(call.reason);
    expect(child.call.reason?.kind).toBe('deadline');
  });

  test('refuses it while it waits for its slot: its handler never starts', async () => {
    const { engine, start } = rig();
    const gate = engine.slots.mutex('db');
    start(Infinity, { id: 2 }, { gate });
    const { call } = start();
    const child = startNested(engine, call, Infinity, { gate });
    expect(child.call.state).toBe('queued');
    const reason = cancelled('client');
    call.stop(reason);
    await turns();
    expect(child.call.state).toBe('refused');
    expect([child.started(), child.answer.error]).toEqual([false, reason]);
  });

  test('does not go the other way: the caller of a stopped call runs on', async () => {
    const { engine, start } = rig();
    const { call } = start();
    const child = startNested(engine, call);
    child.call.stop(cancelled('library'));
    child.returns();
    await turns();
    expect(call.outcome()).toEqual({ state: 'running', handler: 'running', work: 'none' });
  });
});

describe('a nested call never outlives its caller', () => {
  test('that returns without waiting for it: it is stopped, and the caller leaves when it has', async () => {
    const { engine, start, left } = rig();
    const parent = start();
    const child = startNested(engine, parent.call);
    parent.returns('value');
    await turns();
    expect(parent.answer).toEqual({ times: 1, value: 'value' });
    expect(child.call.reason).toMatchObject({ kind: 'cancelled', by: 'library' });
    expect(left).toEqual([]);
    child.throws(child.call.reason);
    await turns();
    expect(child.call.state).toBe('stopped');
    expect(left).toEqual([parent.call]);
    expect(engine.stats().inFlight).toBe(0);
  });

  test('that returns, and the nested one listens to nothing: the caller is there, with unknown work, until it ends', async () => {
    const { engine, clock, start, left } = rig();
    const parent = start();
    const child = startNested(engine, parent.call);
    parent.returns();
    await turns();
    clock.advance(LADDER_MS);
    await turns();
    expect(child.call.state).toBe('abandoned');
    expect(parent.call.outcome()).toEqual({ state: 'completed', handler: 'settled', work: 'unknown', rung: 'nested' });
    expect([left, engine.stats().inFlight, clock.pending]).toEqual([[], 2, 0]);
    child.returns();
    await turns();
    expect(left).toEqual([parent.call]);
    expect(engine.stats().inFlight).toBe(0);
  });

  test('that is abandoned: both are, until both have ended', async () => {
    const { engine, clock, start, left } = rig();
    const parent = start(50);
    const child = startNested(engine, parent.call);
    clock.advance(50 + LADDER_MS);
    await turns();
    clock.advance(LADDER_MS);
    await turns();
    expect([parent.call.state, child.call.state]).toEqual(['abandoned', 'abandoned']);
    parent.returns();
    await turns();
    expect(parent.call.outcome()).toMatchObject({ state: 'abandoned', handler: 'settled', work: 'unknown' });
    expect(left).toEqual([]);
    child.returns();
    await turns();
    expect([parent.call.state, child.call.state, left]).toEqual(['stopped', 'stopped', [parent.call]]);
  });

  test('that makes it and never runs it', async () => {
    const { engine, start, left } = rig();
    const parent = start();
    const child = engine.nest(parent.call, { method: 'tools/call', name: 'nested' });
    parent.returns();
    await turns();
    expect(child.state).toBe('refused');
    expect(left).toEqual([parent.call]);
    await expect(child.run(() => 1, { timeoutMs: Infinity })).rejects.toBe(child.reason);
  });

  test('whose engine is closed: it is refused, and nobody hangs', async () => {
    const { engine, arrive } = rig();
    const call = arrive();
    let thrown: unknown;
    const answer = answerOf(
      call.run(
        () => {
          void engine.close();
          try {
            engine.nest(call, { method: 'tools/call', name: 'nested' });
          } catch (error) {
            thrown = error;
          }
        },
        { timeoutMs: Infinity },
      ),
    );
    await turns();
    expect(thrown).toBe(call.reason);
    expect(answer.error).toBe(call.reason);
    expect(engine.stats().inFlight).toBe(0);
  });
});

describe('the work of the caller', () => {
  test("is unknown while a nested call's is, and proven when that has ended", async () => {
    const { engine, clock, start } = rig();
    const parent = start();
    const child = startNested(engine, parent.call);
    const work = new HeldWork();
    child.call.adopt(work);
    parent.call.stop(cancelled('client'));
    parent.returns();
    child.returns();
    await turns();
    expect(parent.call.outcome()).toMatchObject({ state: 'stopping', handler: 'settled', work: 'unknown' });
    clock.advance(30);
    work.finish();
    await turns();
    expect(parent.call.outcome()).toMatchObject({ state: 'stopped', work: 'ended', signalToProofMs: 30 });
    expect(child.call.outcome()).toMatchObject({ state: 'stopped', work: 'ended', signalToProofMs: 30 });
  });

  test('is none when the nested call has started nothing, and only evidence where that is all there is of it', async () => {
    const { engine, start } = rig();
    const { call } = start();
    const plain = startNested(engine, call);
    expect(call.workFact).toBe('unknown');
    plain.returns();
    await turns();
    expect(call.workFact).toBe('none');
    const searched = startNested(engine, call);
    const work = new HeldWork();
    searched.call.adopt(work);
    work.finish('none-found');
    searched.returns();
    await turns();
    expect(call.workFact).toBe('none-found');
  });
});

describe('a call can make no call', () => {
  test('after its stop: nest throws the reason', () => {
    const { engine, start } = rig();
    const { call } = start();
    const reason = disconnected();
    call.stop(reason);
    expect(thrownBy(() => nestOn(engine, call))).toBe(reason);
    expect(engine.stats().inFlight).toBe(1);
  });

  test('after its end, or before its start: nest throws an error that says so', async () => {
    const { engine, start, arrive } = rig();
    const { call, returns } = start();
    returns();
    await turns();
    for (const idle of [call, arrive()]) {
      expect(() => nestOn(engine, idle)).toThrow(
        new Error('estop: tool "scrape" is not running, so it can make no call'),
      );
    }
    expect(engine.stats().inFlight).toBe(1);
  });
});

describe('slots and nested calls', () => {
  test("a nested call runs on its caller's place: a limit of 1 is no deadlock", () => {
    const { engine, start } = rig({ maxConcurrency: 1 });
    const { call } = start();
    expect(startNested(engine, call).call.state).toBe('running');
  });

  test('a call that holds a mutex may call another that needs it, and others wait for both', async () => {
    const { engine, start } = rig();
    const gate = engine.slots.mutex('db');
    const parent = start(Infinity, {}, { gate });
    const waiter = start(Infinity, { id: 2 }, { gate });
    const child = startNested(engine, parent.call, Infinity, { gate });
    expect([child.call.state, waiter.call.state]).toEqual(['running', 'queued']);
    child.returns();
    await turns();
    expect(waiter.call.state).toBe('queued');
    parent.returns();
    await turns();
    expect(waiter.call.state).toBe('running');
  });

  test('siblings under a mutex run one after the other', async () => {
    const { engine, start } = rig();
    const gate = engine.slots.mutex('db');
    const { call } = start(Infinity, {}, { gate });
    const [one, two] = [startNested(engine, call, Infinity, { gate }), startNested(engine, call, Infinity, { gate })];
    expect([one.call.state, two.call.state]).toEqual(['running', 'queued']);
    one.returns();
    await turns();
    expect(two.call.state).toBe('running');
  });

  test('the mutex stays shut while a nested call that entered it runs on after the end of its caller', async () => {
    const { engine, clock, start } = rig({ queueTimeoutMs: Infinity });
    const gate = engine.slots.mutex('db');
    const parent = start(Infinity, {}, { gate });
    const waiter = start(Infinity, { id: 2 }, { gate });
    const child = startNested(engine, parent.call, Infinity, { gate });
    parent.returns();
    await turns();
    clock.advance(LADDER_MS);
    await turns();
    expect([child.call.state, waiter.call.state]).toEqual(['abandoned', 'queued']);
    child.returns();
    await turns();
    expect(waiter.call.state).toBe('running');
  });
});

test('100 000 nested calls, one after the other, do not grow their caller', { timeout: 60_000 }, async () => {
  const { engine, start } = rig();
  const { call } = start();
  for (let made = 0; made < 100_000; made += 1) {
    await nestOn(engine, call).run(() => made, { timeoutMs: Infinity });
  }
  await turns();
  expect(call.works).toEqual([]);
  expect(engine.stats()).toMatchObject({ inFlight: 1, running: 1 });
  expect(engine.registry.size).toBe(1);
  expect(call.workFact).toBe('none');
});

test('a nested call that rejects when its caller is gone already is no unhandled rejection of ours', async () => {
  const events = processEvents();
  const { engine, start } = rig();
  const parent = start();
  const child = startNested(engine, parent.call);
  parent.returns();
  await turns();
  child.throws(new Error('late'));
  await turns();
  expect(events.unhandled).toEqual([]);
});

function nestOn(engine: Engine, parent: Call): Call {
  return engine.nest(parent, { method: 'tools/call', name: 'nested' });
}

function startNested(
  engine: Engine,
  parent: Call,
  timeoutMs = Infinity,
  options: Partial<RunOptions> = {},
): Running & { started(): boolean } {
  const call = nestOn(engine, parent);
  const handler = latch<unknown>();
  handler.promise.catch(() => {});
  let started = false;
  const run = (): Promise<unknown> => {
    started = true;
    return handler.promise;
  };
  const answer = answerOf(call.run(run, { timeoutMs, ...options }));
  return { call, answer, returns: handler.open, throws: handler.fail, started: () => started };
}

function thrownBy(run: () => unknown): StopReason | unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error('it did not throw');
}
