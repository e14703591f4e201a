import { cancelled, disconnected } from '@estop/server/core';
import { describe, expect, test } from 'vitest';
import { processEvents } from '../support/process-events.ts';
import { rig } from '../support/rig.ts';
import { turns } from '../support/waiting.ts';

describe('a listener of onStop', () => {
  test('hears of the stop before stop() returns, once, with the reason', () => {
    const { call } = rig().start();
    const heard: unknown[] = [];
    call.onStop((reason) => heard.push(reason));
    const reason = cancelled('client');
    call.stop(reason);
    expect(heard).toEqual([reason]);
    expect(heard[0]).toBe(reason);
    call.stop(disconnected());
    expect(heard).toHaveLength(1);
  });

  test('hears of it in the order of registration, after the listeners of the signal', () => {
    const { call } = rig().start();
    const order: string[] = [];
    call.onStop(() => order.push('first'));
    call.signal.addEventListener('abort', () => order.push('signal'));
    call.onStop(() => order.push('second'));
    call.stop(cancelled('client'));
    expect(order).toEqual(['signal', 'first', 'second']);
  });

  test('finds the call stopped, and its reason in place', () => {
    const { call } = rig().start();
    const seen: unknown[] = [];
    call.onStop(() => seen.push(call.isCancelled, call.state, call.signal.aborted));
    call.stop(cancelled('client'));
    expect(seen).toEqual([true, 'stopping', true]);
  });

  test('is told at once when the call was stopped before', () => {
    const { call } = rig().start();
    const reason = cancelled('client');
    call.stop(reason);
    const heard: unknown[] = [];
    call.onStop((why) => heard.push(why));
    expect(heard).toEqual([reason]);
  });

  test('is told at once, once, when it is registered while the others are told', () => {
    const { call } = rig().start();
    const heard: string[] = [];
    call.onStop(() => call.onStop(() => heard.push('inner')));
    call.stop(cancelled('client'));
    expect(heard).toEqual(['inner']);
  });

  test('hears of a deadline, and of a stop before the handler has started', () => {
    const { clock, start, arrive } = rig();
    const heard: unknown[] = [];
    start(50).call.onStop(({ kind }) => heard.push(kind));
    const queued = arrive();
    queued.onStop(({ kind }) => heard.push(kind));
    clock.advance(50);
    queued.stop(disconnected());
    expect(heard).toEqual(['deadline', 'disconnected']);
  });

  test('is not told when it was taken back', () => {
    const { call } = rig().start();
    let told = 0;
    const takeBack = call.onStop(() => (told += 1));
    takeBack();
    takeBack();
    call.stop(cancelled('client'));
    expect(told).toBe(0);
  });

  test('is not told when another one takes it back as they are told', () => {
    const { call } = rig().start();
    const told: string[] = [];
    call.onStop(() => {
      told.push('first');
      takeBack();
    });
    const takeBack = call.onStop(() => told.push('second'));
    call.stop(cancelled('client'));
    expect(told).toEqual(['first']);
  });

  test.each(['returns', 'throws'] as const)('is never told when the handler %s, nor later', async (how) => {
    const { call, returns, throws } = rig().start(50);
    let told = 0;
    call.onStop(() => (told += 1));
    if (how === 'returns') returns();
    else throws(new Error('mine'));
    await turns();
    call.onStop(() => (told += 1));
    expect(call.stop(cancelled('client'))).toBe(false);
    expect(told).toBe(0);
  });

  test('is told twice when it was registered twice, and once when one of them was taken back', () => {
    for (const [takenBack, expected] of [
      [false, 2],
      [true, 1],
    ]) {
      const { call } = rig().start();
      let told = 0;
      const listener = () => (told += 1);
      const takeBack = call.onStop(listener);
      call.onStop(listener);
      if (takenBack) takeBack();
      call.stop(cancelled('client'));
      expect(told).toBe(expected);
    }
  });

  test.each([
    [
      'throws',
      () => {
        throw new Error('careless');
      },
    ],
    ['rejects', () => Promise.reject(new Error('careless'))],
  ])('that %s is a warning: the others are told, and the stop is answered', async (_how, listener) => {
    const events = processEvents();
    const { call, answer } = rig().start();
    let told = 0;
    call.onStop(listener);
    call.onStop(() => (told += 1));
    call.stop(cancelled('client'));
    await turns();
    expect(told).toBe(1);
    expect(answer.error).toBe(call.reason);
    expect(events.warnings).toMatchObject([{ name: 'EstopWarning', code: 'ESTOP_LISTENER_THREW' }]);
    expect(events.warnings[0]?.message).toContain('careless');
    expect([events.uncaught, events.unhandled]).toEqual([[], []]);
  });

  test('that throws is a warning also when it is told at once', async () => {
    const events = processEvents();
    const { call } = rig().start();
    call.stop(cancelled('client'));
    call.onStop(() => {
      throw new Error('careless');
    });
    await turns();
    expect(events.warnings).toMatchObject([{ code: 'ESTOP_LISTENER_THREW' }]);
  });

  test('is not waited for: a promise that it returns holds nothing up', async () => {
    const { call, returns, answer } = rig().start();
    call.onStop(() => new Promise(() => {}));
    call.stop(cancelled('client'));
    returns();
    await turns();
    expect(answer.times).toBe(1);
    expect(call.state).toBe('stopped');
  });
});
