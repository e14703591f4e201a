import { type Call, cancelled, type Owner } from '@estop/server/core';
import { describe, expect, test } from 'vitest';
import { published } from '../support/published.ts';
import { reportOf } from '../support/report.ts';
import { rig } from '../support/rig.ts';
import { turns } from '../support/waiting.ts';

const HERE = 'connection:1';
const MINUTE_MS = 60_000;

describe('a pass of the janitor', () => {
  test('stops a live call whose owner is gone, as disconnected, and removes its row', async () => {
    const { engine, start } = rig();
    const owner = owners();
    const { call, answer } = start(Infinity, { owner });
    engine.cleanup();
    expect(call.state).toBe('running');
    owner.isGone = true;
    engine.cleanup();
    expect(call.reason?.kind).toBe('disconnected');
    expect(engine.registry.size).toBe(0);
    expect(engine.registry.calls()).toEqual([]);
    await turns();
    expect(answer.error).toBe(call.reason);
  });

  test('leaves such a call counted until it has ended, and its owner hears of it once', async () => {
    const { engine, start, clock } = rig();
    const owner = owners();
    const { call, returns } = start(Infinity, { owner });
    owner.isGone = true;
    engine.cleanup();
    engine.cleanup();
    expect(engine.stats()).toMatchObject({ inFlight: 1 });
    clock.advance(5_000);
    await turns();
    expect(engine.stats()).toMatchObject({ inFlight: 1, abandoned: 1 });
    returns();
    await turns();
    expect(call.state).toBe('stopped');
    expect(owner.heard).toEqual([call]);
    expect(engine.stats()).toMatchObject({ inFlight: 0, abandoned: 0 });
  });

  test('removes the row of an abandoned call whose owner is gone, and gives it no other reason', () => {
    const { engine, start, clock } = rig();
    const owner = owners();
    const { call } = start(50, { owner });
    clock.advance(50);
    owner.isGone = true;
    engine.cleanup();
    expect(call.reason?.kind).toBe('deadline');
    expect(engine.registry.size).toBe(0);
  });

  test('refuses a call that waits and whose owner is gone: it never starts, and is counted like the others', async () => {
    const { engine, start } = rig({ maxConcurrency: 1 });
    const passes = published('cleanedUp');
    start();
    const owner = owners();
    const { call } = start(Infinity, { id: 2, owner });
    owner.isGone = true;
    engine.cleanup();
    expect(call.state).toBe('refused');
    expect(passes).toEqual([{ channel: 'cleanedUp', event: { expired: 0, ownerless: 1 } }]);
  });

  test('keeps a live namesake whose owner is there: it runs on, and is cancellable', () => {
    const { engine, start } = rig();
    const [gone, there] = [owners(), owners()];
    const leftover = start(Infinity, { id: 7, owner: gone }).call;
    const namesake = start(Infinity, { id: 7, owner: there }).call;
    gone.isGone = true;
    engine.cleanup();
    expect([leftover.isCancelled, namesake.isCancelled]).toEqual([true, false]);
    expect(engine.registry.calls()).toEqual([namesake]);
    expect(engine.registry.cancel(HERE, 7, cancelled('client'))).toEqual({ stopped: 1 });
  });

  test('keeps a call that has no owner', () => {
    const { engine, start } = rig();
    const { call } = start(Infinity, { owner: undefined });
    engine.cleanup();
    expect(call.state).toBe('running');
    expect(engine.registry.size).toBe(1);
  });

  test('says what it found: recorded cancels past their time, and rows without an owner', () => {
    const { engine, start, clock } = rig({ recorded: { ttlMs: 100 } });
    const passes = published('cleanedUp');
    const owner = owners();
    start(Infinity, { owner });
    start(Infinity, { id: 2, owner });
    start(Infinity, { id: 3 });
    for (const id of [10, 11, 12]) engine.registry.record(HERE, id, cancelled('library'));
    clock.advance(100);
    engine.registry.record(HERE, 13, cancelled('library'));
    owner.isGone = true;
    engine.cleanup();
    expect(passes.map(({ event }) => event)).toEqual([{ expired: 3, ownerless: 2 }]);
    expect(engine.stats().recorded).toBe(1);
  });

  test('says so when it found nothing', () => {
    const { engine } = rig();
    const passes = published('cleanedUp');
    engine.cleanup();
    engine.cleanup();
    expect(passes.map(({ event }) => event)).toEqual([
      { expired: 0, ownerless: 0 },
      { expired: 0, ownerless: 0 },
    ]);
  });
});

describe('the janitor', () => {
  test('comes every 60 s', () => {
    const { clock } = rig({ cleanupMs: undefined });
    const passes = published('cleanedUp');
    clock.advance(MINUTE_MS - 1);
    expect(passes).toHaveLength(0);
    clock.advance(1);
    expect(passes).toHaveLength(1);
    clock.advance(10 * MINUTE_MS);
    expect(passes).toHaveLength(11);
    expect([clock.pending, clock.background]).toEqual([0, 1]);
  });

  test('comes as often as cleanupMs says, and never with Infinity or 0', () => {
    const passes = published('cleanedUp');
    const often = rig({ cleanupMs: 1_000 });
    often.clock.advance(5_000);
    expect(passes).toHaveLength(5);
    for (const cleanupMs of [Infinity, 0]) {
      const { clock } = rig({ cleanupMs });
      expect(clock.background).toBe(0);
      clock.advance(2 ** 40);
    }
    expect(passes).toHaveLength(5);
  });

  test.each([NaN, -1])('is refused a cleanupMs of %d, by name', (cleanupMs) => {
    expect(() => rig({ cleanupMs })).toThrow(
      new RangeError(`estop: cleanupMs must be a number of milliseconds >= 0, got ${cleanupMs}`),
    );
  });

  test('has no timer that Node cannot hold', () => {
    const { clock } = rig({ cleanupMs: 2 ** 40 });
    expect(clock.longest).toBeLessThanOrEqual(2 ** 31 - 1);
  });

  test('sweeps on its own what its time is over for', () => {
    const { engine, clock, start } = rig({ cleanupMs: undefined });
    const owner = owners();
    start(Infinity, { owner });
    engine.registry.record(HERE, 10, cancelled('library'));
    owner.isGone = true;
    clock.advance(MINUTE_MS);
    expect(engine.registry.size).toBe(0);
    expect(engine.stats().recorded).toBe(1);
    clock.advance(4 * MINUTE_MS);
    expect(engine.stats().recorded).toBe(0);
  });

  test('goes home when the engine is closed', async () => {
    const { engine, clock } = rig({ cleanupMs: undefined });
    const passes = published('cleanedUp');
    await engine.close();
    expect(clock.background).toBe(0);
    clock.advance(10 * MINUTE_MS);
    expect(passes).toEqual([]);
  });

  test('keeps no process alive', async () => {
    expect(await reportOf('engine-idle.mjs')).toMatchObject({ stats: { inFlight: 0 } });
  });

  test('keeps no engine that nobody holds any more, and does not come again for one that is gone', async () => {
    expect(await reportOf('engine-dropped.mjs')).toEqual({ collected: true, timers: 0 });
  });
});

function owners(): Owner & { isGone: boolean; heard: Call[] } {
  const heard: Call[] = [];
  return { isGone: false, heard, left: (call) => void heard.push(call) };
}
