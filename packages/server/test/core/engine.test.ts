import { cancelled, Engine, shutdown } from '@estop/server/core';
import { describe, expect, test } from 'vitest';
import { HeldWork } from '../support/held-work.ts';
import { GRACE_MS, rig } from '../support/rig.ts';
import { turns } from '../support/waiting.ts';

describe('the counts', () => {
  test('say where each call is', async () => {
    const { engine, clock, start, arrive } = rig({ maxConcurrency: 2 });
    start(50, { id: 1 });
    start(Infinity, { id: 2 });
    start(Infinity, { id: 3 });
    arrive({ id: 4 });
    engine.registry.record('connection:1', 5, cancelled('library'));
    engine.registry.cancel('connection:1', 6, cancelled('client'));
    expect(engine.stats()).toEqual({
      queued: 2,
      running: 2,
      abandoned: 0,
      inFlight: 4,
      recorded: 1,
      ignoredCancels: 1,
    });
    clock.advance(50);
    expect(engine.stats()).toMatchObject({ queued: 1, running: 2, abandoned: 1, inFlight: 4 });
  });

  test('are a copy', () => {
    const { engine, start } = rig();
    const before = engine.stats();
    start();
    expect(before.inFlight).toBe(0);
  });
});

describe('close', () => {
  test('stops every call, running or waiting, as a shutdown', async () => {
    const { engine, start, arrive } = rig({ maxConcurrency: 1 });
    const [running, waiting] = [start(), start()];
    const arrived = arrive();
    void engine.close();
    expect([running, waiting, { call: arrived }].map(({ call }) => call.reason?.kind)).toEqual(
      Array(3).fill('shutdown'),
    );
    expect([running.call.state, waiting.call.state, arrived.state]).toEqual(['stopping', 'refused', 'refused']);
    await turns();
    expect([running.answer.times, waiting.answer.times]).toEqual([1, 1]);
  });

  test('starts nobody who waited when the running ones leave', async () => {
    const { engine, start, arrive } = rig({ maxConcurrency: 1 });
    const running = start();
    let started = false;
    const waiting = arrive().run(
      () => {
        started = true;
      },
      { timeoutMs: Infinity },
    );
    const closed = engine.close();
    running.returns();
    await expect(waiting).rejects.toMatchObject({ kind: 'shutdown' });
    await closed;
    expect(started).toBe(false);
  });

  test('refuses a call that comes later, with the reason of the close', async () => {
    const { engine, start } = rig();
    const reason = shutdown();
    await engine.close(reason);
    const { call, answer } = start();
    expect(call.state).toBe('refused');
    await turns();
    expect(answer.error).toBe(reason);
    expect(engine.stats()).toMatchObject({ queued: 0, running: 0, inFlight: 0 });
  });

  test('refuses a call that comes from a listener of the stop', async () => {
    const { engine, start, arrive } = rig();
    const { call } = start();
    let late: ReturnType<typeof arrive> | undefined;
    call.onStop(() => {
      late = arrive({ id: 2 });
    });
    void engine.close();
    expect(late?.reason?.kind).toBe('shutdown');
  });

  test('a second time has no other reason for those that come later', async () => {
    const { engine, arrive } = rig();
    const reason = shutdown();
    await engine.close(reason);
    await engine.close(cancelled('library'));
    expect(arrive().reason).toBe(reason);
  });

  test('waits for the ladders, which are bounded, and not for a handler that listens to nothing', async () => {
    const { engine, clock, start } = rig();
    const { call } = start();
    let closed = false;
    const closing = engine.close().then(() => {
      closed = true;
    });
    await turns();
    clock.advance(GRACE_MS - 1);
    await turns();
    expect(closed).toBe(false);
    clock.advance(1);
    await closing;
    expect(call.state).toBe('abandoned');
    expect(engine.stats()).toMatchObject({ abandoned: 1, inFlight: 1 });
  });

  test('waits for the work that a call has left behind, also of one that had ended well before', async () => {
    const { engine, start } = rig();
    const { call, returns } = start();
    const work = new HeldWork();
    call.adopt(work);
    returns();
    await turns();
    let closed = false;
    const closing = engine.close().then(() => {
      closed = true;
    });
    await turns();
    expect(closed).toBe(false);
    work.finish();
    await closing;
    expect(engine.stats().inFlight).toBe(0);
  });

  // Not so yet: such a call is in no list that `laddersDone` knows.
  test('waits for the ladder of a call whose row the janitor has removed', async () => {
    const { engine, clock, start } = rig();
    const owner = { isGone: false, left() {} };
    start(Infinity, { owner });
    owner.isGone = true;
    engine.cleanup();
    let closed = false;
    const closing = engine.close().then(() => {
      closed = true;
    });
    await turns();
    expect(closed).toBe(false);
    clock.advance(GRACE_MS);
    await closing;
  });

  test('is done at once when nothing is in flight', async () => {
    const { engine, clock } = rig();
    await engine.close();
    expect(clock.pending).toBe(0);
  });
});

describe('drain', () => {
  test('refuses calls that come, and is done when the last one has ended by itself', async () => {
    const { engine, start } = rig({ maxConcurrency: 1 });
    const [running, waiting] = [start(), start()];
    const drained = observed(engine.drain());
    const late = start();
    expect(late.call).toMatchObject({ state: 'refused', reason: { kind: 'shutdown' } });
    running.returns();
    await turns();
    expect([drained.isDone, waiting.call.state]).toEqual([false, 'running']);
    waiting.returns();
    await drained.done;
    expect([running, waiting].map(({ call }) => call.reason)).toEqual([undefined, undefined]);
  });

  test('lets a call that is in flight make calls of its own', async () => {
    const { engine, start } = rig();
    const { call, returns } = start();
    const drained = engine.drain();
    const nested = engine.nest(call, { method: 'tools/call', name: 'other' });
    expect(await nested.run(() => 'it ran', { timeoutMs: Infinity })).toBe('it ran');
    returns();
    await drained;
  });

  test('is over after its bound, and has stopped nothing', async () => {
    const { engine, clock, start } = rig({ drainMs: 50 });
    const { call } = start();
    const drained = observed(engine.drain());
    clock.advance(49);
    await turns();
    expect(drained.isDone).toBe(false);
    clock.advance(1);
    await drained.done;
    expect(call.state).toBe('running');
    expect(clock.pending).toBe(0);
  });

  test('does not wait for what was stopped already', async () => {
    const { engine, start } = rig();
    start().call.stop(cancelled('library'));
    await engine.drain();
    expect(engine.stats().inFlight).toBe(1);
  });

  test('is cut short by close', async () => {
    const { engine, start } = rig();
    const { call } = start();
    const drained = engine.drain();
    void engine.close();
    await drained;
    expect(call.reason?.kind).toBe('shutdown');
  });
});

function observed(promise: Promise<void>): { readonly isDone: boolean; readonly done: Promise<void> } {
  const seen = { isDone: false, done: promise };
  seen.done = promise.then(() => {
    seen.isDone = true;
  });
  return seen;
}

describe('its options', () => {
  test.each([
    ['graceMs', NaN, 'a number of milliseconds >= 0, got NaN'],
    ['drainMs', '10', 'a number of milliseconds >= 0, got "10"'],
    ['cleanupMs', -1, 'a number of milliseconds >= 0, got -1'],
    ['maxConcurrency', 0, 'an integer >= 1 or Infinity, got 0'],
    ['queueTimeoutMs', '5', 'a number of milliseconds >= 0, got "5"'],
  ])('%s: %j is refused where it is given', (name, value, must) => {
    expect(() => new Engine({ [name]: value })).toThrow(new RangeError(`estop: ${name} must be ${must}`));
  });

  test('the bounds of recorded cancels are checked too', () => {
    expect(() => new Engine({ recorded: { maxPerScope: 0 } })).toThrow('maxPerScope');
    expect(() => new Engine({ recorded: { ttlMs: NaN } })).toThrow('ttlMs');
  });
});
