import { cancelled, type Outcome, shutdown, type WorkFact } from '@estop/server/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { allOf } from '../../src/core/outcome.ts';
import { HeldWork } from '../support/held-work.ts';
import { GRACE_MS, rig } from '../support/rig.ts';
import { turns } from '../support/waiting.ts';

describe('the outcome of a call', () => {
  test('says who cancelled, and only of a cancel', () => {
    const { start } = rig();
    for (const by of ['client', 'library', 'bus'] as const) {
      const { call } = start();
      call.stop(cancelled(by));
      expect(call.outcome()).toMatchObject({ reason: 'cancelled', by });
    }
    const { call } = start();
    call.stop(shutdown());
    expect(call.outcome()).not.toHaveProperty('by');
  });

  test('has no reason and no latency while nobody has stopped it', async () => {
    const { call, returns } = rig().start();
    expect(call.outcome()).toEqual({ state: 'running', handler: 'running', work: 'none' });
    returns();
    await turns();
    expect(call.outcome()).toEqual({ state: 'completed', handler: 'settled', work: 'none' });
  });

  test('has the ms from the signal to the end of the handler, when that comes', async () => {
    const { clock, start } = rig();
    const { call, returns } = start();
    clock.advance(1_000);
    call.stop(cancelled('client'));
    clock.advance(30);
    await turns();
    expect(call.outcome()).not.toHaveProperty('signalToSettledMs');
    returns();
    await turns();
    clock.advance(5);
    expect(call.outcome()).toEqual({
      state: 'stopped',
      reason: 'cancelled',
      by: 'client',
      handler: 'settled',
      work: 'none',
      rung: 'signal',
      signalToSettledMs: 30,
    });
  });

  test('has it for an abandoned call too, however late: the late end of a stopped call leaves a trace', async () => {
    const { clock, start } = rig();
    const { call, returns, answer } = start(50);
    clock.advance(50);
    await turns();
    clock.advance(100_000);
    await turns();
    returns('late');
    await turns();
    expect(answer).toMatchObject({ times: 1, error: { kind: 'deadline' } });
    expect(call.outcome()).toMatchObject({ state: 'stopped', handler: 'settled', signalToSettledMs: 100_000 });
  });

  test('has the ms from the signal to the proof, which may come before the end of the handler and after it', async () => {
    for (const [workAfter, handlerAfter] of [
      [20, 40],
      [40, 20],
    ] as const) {
      const { clock, start } = rig();
      const { call, returns } = start();
      const work = new HeldWork();
      call.adopt(work);
      call.stop(cancelled('client'));
      for (let ms = 10; ms <= 40; ms += 10) {
        clock.advance(10);
        if (ms === workAfter) work.finish();
        if (ms === handlerAfter) returns();
        await turns();
      }
      expect(call.outcome()).toEqual({
        state: 'stopped',
        reason: 'cancelled',
        by: 'client',
        handler: 'settled',
        work: 'ended',
        rung: 'signal',
        signalToSettledMs: handlerAfter,
        signalToProofMs: workAfter,
      });
    }
  });

  test('has the proof when the last of several works has ended, not the first', async () => {
    const { clock, start } = rig();
    const { call, returns } = start();
    const works = [new HeldWork(), new HeldWork()];
    for (const work of works) call.adopt(work);
    call.stop(cancelled('client'));
    returns();
    for (const work of works) {
      clock.advance(10);
      expect(call.outcome()).not.toHaveProperty('signalToProofMs');
      work.finish();
      await turns();
    }
    expect(call.outcome()).toMatchObject({ work: 'ended', signalToProofMs: 20 });
  });

  test('has no latency to a proof that there is not: nothing was found, or nothing was started', async () => {
    const { start } = rig();
    const searched = start();
    const work = new HeldWork();
    searched.call.adopt(work);
    const plain = start();
    for (const { call, returns } of [searched, plain]) {
      call.stop(cancelled('client'));
      returns();
    }
    work.finish('none-found');
    await turns();
    expect(searched.call.outcome()).toMatchObject({ state: 'stopped', work: 'none-found' });
    expect(plain.call.outcome()).toMatchObject({ state: 'stopped', work: 'none' });
    for (const { call } of [searched, plain]) expect(call.outcome()).not.toHaveProperty('signalToProofMs');
  });

  test('says unknown of work that goes on: the call is abandoned though its handler has settled', async () => {
    const { clock, start, left } = rig();
    const { call, returns } = start();
    const work = new HeldWork();
    call.adopt(work);
    const reason = cancelled('client');
    call.stop(reason);
    expect(work.signals).toEqual([reason]);
    returns();
    await turns();
    clock.advance(GRACE_MS);
    await turns();
    expect(work.forced).toBe(1);
    clock.advance(5_000);
    await turns();
    expect(call.outcome()).toMatchObject({ state: 'abandoned', handler: 'settled', work: 'unknown' });
    expect(left).toEqual([]);
    work.finish();
    await turns();
    expect(call.outcome()).toMatchObject({ state: 'stopped', work: 'ended', signalToProofMs: GRACE_MS + 5_000 });
    expect(left).toEqual([call]);
  });

  test('is data: it says what was known when it was asked for', async () => {
    const { call, returns } = rig().start();
    call.stop(cancelled('client'));
    const before: Outcome = call.outcome();
    returns();
    await turns();
    expect(before).toMatchObject({ state: 'stopping', handler: 'running' });
    expect(structuredClone(call.outcome())).toEqual(call.outcome());
  });
});

test('what is known of all work is as weak as the weakest part of it, in any order', () => {
  const strength: readonly WorkFact[] = ['unknown', 'none-found', 'ended', 'none'];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...strength)), (facts) => {
      const weakest = Math.min(3, ...facts.map((fact) => strength.indexOf(fact)));
      expect(allOf(facts)).toBe(strength[weakest]);
    }),
  );
});
