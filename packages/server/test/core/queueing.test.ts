/** Calls and the slots together: what a call does with its place, and what its place does to it. */
import { type Call, cancelled, disconnected, type EngineOptions, type RunOptions, shutdown } from '@estop/server/core';
import { describe, expect, test } from 'vitest';
import { HeldWork } from '../support/held-work.ts';
import { GRACE_MS, type Rig, type Running, rig } from '../support/rig.ts';
import { turns } from '../support/waiting.ts';

/** Longer than any wait of the ladder. */
const LADDER_MS = GRACE_MS + 5_000;

describe('a call that waits', () => {
  test('is queued, and running when another has left', async () => {
    const { engine, start } = rig({ maxConcurrency: 1 });
    const [one, two] = [start(), start()];
    expect(two.call.state).toBe('queued');
    expect(engine.stats()).toMatchObject({ queued: 1, running: 1, inFlight: 2 });
    one.returns();
    await turns();
    expect(two.call.state).toBe('running');
    expect(engine.stats()).toMatchObject({ queued: 0, running: 1, inFlight: 1 });
    two.returns('value');
    await turns();
    expect(two.answer).toEqual({ times: 1, value: 'value' });
  });

  test('and is stopped never starts its handler, is answered at once, and passes its turn on', async () => {
    for (const reason of [cancelled('client'), disconnected(), shutdown()]) {
      const { engine, arrive, start, left } = rig({ maxConcurrency: 1 });
      const holder = start();
      const call = arrive();
      let started = false;
      const ran = call.run(
        () => {
          started = true;
        },
        { timeoutMs: 50 },
      );
      const next = start();
      expect(call.stop(reason)).toBe(true);
      await expect(ran).rejects.toBe(reason);
      expect(call.state).toBe('refused');
      expect(left).toEqual([call]);
      holder.returns();
      await turns();
      expect(started).toBe(false);
      expect(next.call.state).toBe('running');
      expect(engine.stats()).toMatchObject({ queued: 0, inFlight: 1 });
    }
  });

  test('can be cancelled over the wire like any other', async () => {
    const { engine, start } = rig({ maxConcurrency: 1 });
    start(Infinity, { id: 1 });
    const { call, answer } = start(Infinity, { id: 2 });
    expect(engine.registry.cancel('connection:1', 2, cancelled('client'))).toEqual({ stopped: 1 });
    await turns();
    expect(call.state).toBe('refused');
    expect(answer.error).toBe(call.reason);
  });

  test('gives the answer of a stop in the shape that its run asked for', async () => {
    const { start } = rig({ maxConcurrency: 1 });
    start();
    const { call, answer } = start(50, {}, { answerStop: (stopped, { kind }) => `${stopped.what}: ${kind}` });
    call.stop(cancelled('client'));
    await turns();
    expect(answer).toEqual({ times: 1, value: 'tool "scrape": cancelled' });
  });

  test('eats nothing of its deadline, which starts with its handler', async () => {
    const { clock, start } = rig({ maxConcurrency: 1 });
    const holder = start();
    const { call } = start(50);
    expect(call.remaining()).toBe(Infinity);
    clock.advance(1_000);
    holder.returns();
    await turns();
    expect(call.remaining()).toBe(50);
    clock.advance(49);
    expect(call.state).toBe('running');
    clock.advance(1);
    expect(call.reason).toMatchObject({ kind: 'deadline', timeoutMs: 50 });
  });

  test('longer than the queue allows is refused as overloaded: its answer rejects with that, and says why', async () => {
    const { clock, engine, start, left } = rig({ maxConcurrency: 1, queueTimeoutMs: 500 });
    start();
    const { call, answer } = start(50);
    clock.advance(500);
    await turns();
    expect(call.outcome()).toEqual({ state: 'refused', reason: 'overloaded', handler: 'settled', work: 'none' });
    expect(answer.error).toBe(call.reason);
    expect(call.reason?.message).toBe(
      'estop: tool "scrape" was not run: it waited for 500 ms, and the server runs 1 of 1 (maxConcurrency)',
    );
    expect(left).toEqual([call]);
    expect(engine.stats()).toMatchObject({ queued: 0, inFlight: 1 });
  });

  test('for which the queue has no room is refused as overloaded at once', async () => {
    const { start } = rig({ maxConcurrency: 1, maxQueue: 1 });
    start();
    start();
    const { call, answer } = start();
    expect(call.state).toBe('refused');
    await turns();
    expect(answer.error).toMatchObject({ kind: 'overloaded', message: expect.stringContaining('maxQueue') });
  });

  test('and was refused cannot be run again, nor stopped', async () => {
    const { start } = rig({ maxConcurrency: 1, maxQueue: 0 });
    start();
    const { call, answer } = start();
    expect(call.stop(cancelled('client'))).toBe(false);
    expect(() => call.run(() => 1, { timeoutMs: Infinity })).toThrow('was started twice');
    await turns();
    expect(answer).toMatchObject({ times: 1, error: { kind: 'overloaded' } });
  });

  test('holds one timer with all others that wait, and none when they are gone', async () => {
    const { clock, start } = rig({ maxConcurrency: 1 });
    const calls = [start(), start(), start(), start()];
    expect(clock.pending).toBe(1);
    for (const { call } of calls.slice(1)) call.stop(cancelled('client'));
    expect(clock.pending).toBe(0);
  });
});

describe('the place of an abandoned call', () => {
  test('passes on at the deadline, though its handler runs on', async () => {
    const { clock, start } = rig({ maxConcurrency: 1 });
    const one = start(50);
    const two = start();
    clock.advance(49);
    expect(two.call.state).toBe('queued');
    clock.advance(1);
    expect([one.call.state, two.call.state]).toEqual(['abandoned', 'running']);
  });

  test('passes on at the end of the grace after any other stop, not before', async () => {
    const { clock, start } = rig({ maxConcurrency: 1 });
    const one = start();
    const two = start();
    one.call.stop(cancelled('client'));
    clock.advance(GRACE_MS - 1);
    await turns();
    expect(two.call.state).toBe('queued');
    clock.advance(1);
    await turns();
    expect(two.call.state).toBe('running');
  });

  test('passes on up to maxAbandoned; beyond it new calls are refused as overloaded, until one has ended', async () => {
    const { clock, engine, start } = rig({ maxConcurrency: 1, maxAbandoned: 2 });
    const deaf = [start(50), start(50)];
    clock.advance(50);
    expect(deaf.map(({ call }) => call.state)).toEqual(['abandoned', 'running']);
    clock.advance(50);
    expect(engine.stats()).toMatchObject({ abandoned: 2, running: 0 });
    const refused = start();
    expect(refused.call.outcome()).toMatchObject({ state: 'refused', reason: 'overloaded' });
    expect(refused.call.reason?.message).toContain('2 of 2 (maxAbandoned)');
    deaf[0]?.returns();
    await turns();
    clock.advance(LADDER_MS);
    await turns();
    expect(start().call.state).toBe('running');
  });

  test('is given back once: when the handler ends after all, no second one is free', async () => {
    const { clock, engine, start } = rig({ maxConcurrency: 1 });
    const one = start(50);
    const [two, three] = [start(), start()];
    clock.advance(50);
    one.returns();
    await turns();
    clock.advance(LADDER_MS);
    await turns();
    expect([two.call.state, three.call.state]).toEqual(['running', 'queued']);
    expect(engine.slots.running).toBe(1);
  });
});

test('a call that ended well and left work behind which nothing ends is abandoned: its place passes on', async () => {
  const { clock, engine, start } = rig({ maxConcurrency: 1 });
  const one = start();
  const work = new HeldWork();
  one.call.adopt(work);
  one.returns('value');
  await turns();
  expect(one.answer).toEqual({ times: 1, value: 'value' });
  const two = start();
  expect(two.call.state).toBe('queued');
  clock.advance(LADDER_MS);
  await turns();
  expect(engine.stats()).toMatchObject({ running: 1, abandoned: 1, inFlight: 2 });
  expect(one.call.outcome()).toEqual({ state: 'completed', handler: 'settled', work: 'unknown', rung: 'thread' });
  work.finish();
  two.returns();
  await turns();
  expect(engine.stats()).toMatchObject({ running: 0, abandoned: 0, inFlight: 0 });
});

describe('a mutex', () => {
  test('stays shut while its answered holder runs on, whatever has answered it', async () => {
    const stops: Record<string, (call: Call, rigged: Rig) => void> = {
      deadline: (_call, { clock }) => clock.advance(50),
      cancel: (call) => void call.stop(cancelled('client')),
      disconnect: (call) => void call.stop(disconnected()),
    };
    for (const stop of Object.values(stops)) {
      const made = sequential({ queueTimeoutMs: Infinity });
      const [holder, waiter] = [made.enter(50), made.enter()];
      stop(holder.call, made);
      made.clock.advance(LADDER_MS);
      await turns();
      expect([holder.answer.times, holder.call.state, waiter.call.state]).toEqual([1, 'abandoned', 'queued']);
      holder.returns();
      await turns();
      expect(waiter.call.state).toBe('running');
    }
  });

  test('stays shut while the work of its holder may go on, though its handler has settled', async () => {
    const { clock, enter } = sequential();
    const [holder, waiter] = [enter(), enter()];
    const work = new HeldWork();
    holder.call.adopt(work);
    holder.returns('value');
    await turns();
    clock.advance(LADDER_MS);
    await turns();
    expect(holder.answer).toEqual({ times: 1, value: 'value' });
    expect(waiter.call.state).toBe('queued');
    work.finish();
    await turns();
    expect(waiter.call.state).toBe('running');
  });

  test.each(['ended', 'none-found'] as const)('opens when the handler has settled and its work is %s', async (fact) => {
    const { enter } = sequential();
    const [holder, waiter] = [enter(), enter()];
    const work = new HeldWork();
    holder.call.adopt(work);
    work.finish(fact);
    await turns();
    expect(waiter.call.state).toBe('queued');
    holder.returns();
    await turns();
    expect(waiter.call.state).toBe('running');
  });

  test('has whoever waits for it refused in the end, with the name of the holder that runs on', async () => {
    const { clock, enter } = sequential({ queueTimeoutMs: 500 });
    enter(50);
    const { call } = enter();
    clock.advance(500);
    expect(call.reason).toMatchObject({
      kind: 'overloaded',
      message:
        'estop: tool "scrape" was not run: it waited for 500 ms, and the mutex "db" is held by tool "scrape", which was answered but runs on',
    });
  });

  test('is opened by release(), though its holder runs on; a second one and one of nothing say so', async () => {
    const { clock, engine, enter } = sequential();
    const [holder, waiter] = [enter(50), enter()];
    clock.advance(50);
    expect(waiter.call.release()).toBe(false);
    expect(holder.call.release()).toBe(true);
    expect(holder.call.release()).toBe(false);
    expect([holder.call.state, waiter.call.state]).toEqual(['abandoned', 'running']);
    expect(engine.stats()).toMatchObject({ abandoned: 1, running: 1, inFlight: 2 });
    holder.returns();
    waiter.returns();
    await turns();
    expect(engine.slots.abandoned).toBe(0);
    expect(engine.stats().inFlight).toBe(0);
  });

  test('that was released by a running call leaves that call running, to be answered as ever', async () => {
    const { enter } = sequential();
    const [holder, waiter] = [enter(), enter()];
    expect(holder.call.release()).toBe(true);
    expect([holder.call.state, waiter.call.state]).toEqual(['running', 'running']);
    holder.returns('value');
    await turns();
    expect(holder.answer).toEqual({ times: 1, value: 'value' });
  });

  function sequential(options?: EngineOptions): Rig & { enter(timeoutMs?: number): Running } {
    const made = rig(options);
    const gate: RunOptions['gate'] = made.engine.slots.mutex('db');
    return { ...made, enter: (timeoutMs = Infinity) => made.start(timeoutMs, {}, { gate }) };
  }
});
