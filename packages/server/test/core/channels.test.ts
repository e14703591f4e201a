import { channel } from 'node:diagnostics_channel';
import { cancelled, channels, disconnected, StopReason } from '@estop/server/core';
import { describe, expect, test } from 'vitest';
import { HeldWork } from '../support/held-work.ts';
import { type Published, published } from '../support/published.ts';
import { reportOf, runSubject } from '../support/report.ts';
import { GRACE_MS, rig } from '../support/rig.ts';
import { turns } from '../support/waiting.ts';

const CALL = { requestId: 1, scope: 'connection:1', method: 'tools/call', name: 'scrape' };
/** Longer than any wait of the ladder. */
const LADDER_MS = GRACE_MS + 5_000;

test('each transition has a channel of its own name', () => {
  expect(Object.values(channels).map(({ name }) => name)).toEqual([
    'estop:recorded',
    'estop:observed',
    'estop:settled',
    'estop:climbed',
    'estop:proven',
    'estop:abandoned',
    'estop:refused',
    'estop:evicted',
    'estop:cleaned-up',
  ]);
  for (const own of Object.values(channels)) expect(channel(own.name)).toBe(own);
});

describe('what is published', () => {
  test('of a call that nobody stops: that it has settled, and how', async () => {
    const { start } = rig();
    const all = published();
    const [well, badly] = [start(), start(Infinity, { id: 'two' })];
    well.returns();
    badly.throws(new Error('mine'));
    await turns();
    expect(all).toEqual([
      {
        channel: 'settled',
        event: { ...CALL, outcome: { state: 'completed', handler: 'settled', work: 'none' } },
      },
      {
        channel: 'settled',
        event: { ...CALL, requestId: 'two', outcome: { state: 'failed', handler: 'settled', work: 'none' } },
      },
    ]);
  });

  test('of a stop, in its order: recorded, observed, settled, proven, climbed', async () => {
    const { clock, start } = rig();
    const { call, returns } = start();
    const work = new HeldWork();
    call.adopt(work);
    const all = published();
    const reason = cancelled('client');
    call.stop(reason);
    clock.advance(5);
    expect(call.isCancelled).toBe(true);
    clock.advance(5);
    returns();
    await turns();
    clock.advance(5);
    work.finish();
    await turns();
    const stopping = { state: 'stopping', reason: 'cancelled', by: 'client', handler: 'settled', rung: 'signal' };
    const ended = { ...stopping, work: 'ended', signalToSettledMs: 10, signalToProofMs: 15 };
    expect(all).toEqual([
      { channel: 'recorded', event: { ...CALL, reason } },
      { channel: 'observed', event: { ...CALL, reason, latencyMs: 5 } },
      { channel: 'settled', event: { ...CALL, outcome: { ...stopping, work: 'unknown', signalToSettledMs: 10 } } },
      { channel: 'proven', event: { ...CALL, outcome: ended } },
      { channel: 'climbed', event: { ...CALL, rung: 'signal', outcome: ended } },
    ]);
    expect(reasonsIn(all)[0]).toBe(reason);
  });

  test('of a deadline: abandoned at once, and settled when the handler ends after all', async () => {
    const { clock, start } = rig();
    const { call, returns } = start(50);
    const all = published('abandoned', 'settled');
    clock.advance(50);
    expect(all).toEqual([
      {
        channel: 'abandoned',
        event: {
          ...CALL,
          outcome: { state: 'abandoned', reason: 'deadline', handler: 'running', work: 'none', rung: 'signal' },
        },
      },
    ]);
    clock.advance(LADDER_MS);
    await turns();
    expect(all).toHaveLength(1);
    returns('late');
    await turns();
    expect(all.slice(1)).toMatchObject([
      {
        channel: 'settled',
        event: { outcome: { reason: 'deadline', handler: 'settled', signalToSettledMs: LADDER_MS } },
      },
    ]);
    expect(call.state).toBe('stopped');
  });

  test('of any other stop that the handler ignores: abandoned at the end of the ladder, not before', async () => {
    const { clock, start } = rig();
    const { call } = start();
    const all = published('abandoned');
    call.stop(disconnected());
    await turns();
    expect(all).toEqual([]);
    clock.advance(GRACE_MS);
    await turns();
    expect(all).toMatchObject([{ event: { outcome: { state: 'abandoned', reason: 'disconnected' } } }]);
  });

  test('of a call that is stopped, or turned away, before its start: refused, and nothing of a handler', async () => {
    const { arrive, start } = rig({ maxConcurrency: 1, maxQueue: 0 });
    start(Infinity, { id: 9 });
    const all = published();
    const reason = cancelled('client');
    arrive().stop(reason);
    const { call } = start(Infinity, { id: 2 });
    await turns();
    expect(all).toEqual([
      { channel: 'refused', event: { ...CALL, reason } },
      { channel: 'refused', event: { ...CALL, requestId: 2, reason: call.reason } },
    ]);
    expect(call.reason?.kind).toBe('overloaded');
  });

  test('of a cancel that waits for its call: recorded, and refused when that comes', () => {
    const { engine, arrive } = rig();
    const all = published();
    const reason = cancelled('library');
    engine.registry.record('connection:1', 1, reason);
    arrive();
    expect(all).toEqual([
      { channel: 'recorded', event: { requestId: 1, scope: 'connection:1', reason } },
      { channel: 'refused', event: { ...CALL, reason } },
    ]);
  });

  test('of recorded cancels that make room: how many, and how many wait now', () => {
    const { engine } = rig({ recorded: { max: 40 } });
    const all = published('evicted');
    for (let id = 0; id < 41; id += 1) engine.registry.record('connection:1', id, cancelled('library'));
    expect(all).toEqual([{ channel: 'evicted', event: { count: 2, recorded: 39 } }]);
  });

  test('nothing, of a cancel that names nothing, of a second stop, or of a call that is given up', async () => {
    const { engine, start, arrive } = rig();
    const { call, returns } = start();
    call.stop(cancelled('client'));
    returns();
    await turns();
    const all = published();
    engine.registry.cancel('connection:1', 1, cancelled('client'));
    engine.registry.cancel('connection:1', {}, cancelled('client'));
    call.stop(disconnected());
    arrive({ id: 2 }).discard();
    await turns();
    expect(all).toEqual([]);
  });

  test('nothing twice: each transition of a call comes once', async () => {
    const { clock, start } = rig();
    const { call, returns } = start(50);
    const work = new HeldWork();
    call.adopt(work);
    call.onStop(() => {});
    const { signal } = call;
    const all = published();
    clock.advance(50);
    expect(() => call.throwIfStopped()).toThrow(signal.reason);
    expect([call.isCancelled, call.signal.aborted]).toEqual([true, true]);
    clock.advance(LADDER_MS);
    await turns();
    clock.advance(LADDER_MS);
    await turns();
    work.finish();
    await turns();
    returns();
    await turns();
    expect(all.map(({ channel }) => channel)).toEqual([
      'recorded',
      'observed',
      'abandoned',
      'climbed',
      'climbed',
      'proven',
      'settled',
    ]);
  });
});

describe('observed', () => {
  const looks: Record<string, (call: ReturnType<ReturnType<typeof rig>['arrive']>) => unknown> = {
    'its signal': (call) => call.signal,
    onStop: (call) => call.onStop(() => {}),
    isCancelled: (call) => call.isCancelled,
    throwIfStopped: (call) => {
      try {
        call.throwIfStopped();
      } catch {}
    },
  };

  test('is not published when the handler has not looked', async () => {
    const { call, returns } = rig().start();
    const all = published('observed');
    call.stop(cancelled('client'));
    call.remaining();
    call.outcome();
    returns();
    await turns();
    expect(all).toEqual([]);
  });

  test.each(['its signal', 'onStop'])('is published at the stop when the handler had looked at %s before', (what) => {
    const { call } = rig().start();
    looks[what]?.(call);
    const all = published('observed');
    call.stop(cancelled('client'));
    expect(all).toMatchObject([{ event: { ...CALL, latencyMs: 0 } }]);
    looks[what]?.(call);
    expect(all).toHaveLength(1);
  });

  test.each(['isCancelled', 'throwIfStopped'])(
    'is not published at the stop because the handler had asked %s before: it has not seen it yet',
    (what) => {
      const { call } = rig().start();
      looks[what]?.(call);
      const all = published('observed');
      call.stop(cancelled('client'));
      expect(all).toEqual([]);
    },
  );

  test.each(Object.entries(looks))('is published, once, at the first look after the stop: %s', (_what, look) => {
    const { clock, start } = rig();
    const { call } = start();
    const all = published('observed');
    call.stop(cancelled('client'));
    expect(all).toEqual([]);
    clock.advance(7);
    look(call);
    clock.advance(7);
    for (const again of Object.values(looks)) again(call);
    expect(all).toEqual([{ channel: 'observed', event: { ...CALL, reason: call.reason, latencyMs: 7 } }]);
  });

  test('is not published because a listener was taken back before the stop', () => {
    const { call } = rig().start();
    call.onStop(() => {})();
    const all = published('observed');
    call.stop(cancelled('client'));
    expect(all).toEqual([]);
  });
});

describe('a payload', () => {
  test('has the name bounded and clean, however long it is and whatever is in it', async () => {
    const { start } = rig();
    const all = published('settled');
    const { returns } = start(Infinity, { name: `a\u0000b\u001b[31m\u202ec\u200bd\u0085${'x'.repeat(10_000)}` });
    returns();
    await turns();
    expect(all).toMatchObject([{ event: { name: `ab[31mcd${'x'.repeat(92)}` } }]);
  });

  test('has no id where the client gave none that can be one', () => {
    const { arrive } = rig();
    const all = published('refused');
    for (const id of [undefined, {}, 1.5, 'x'.repeat(257)]) arrive({ id }).stop(cancelled('client'));
    expect(all.map(({ event }) => (event as { requestId: unknown }).requestId)).toEqual(Array(4).fill(undefined));
  });

  test('has the reason itself, not a text', () => {
    const { arrive } = rig();
    const all = published('refused');
    const reason = cancelled('client', 'pressed Stop');
    arrive().stop(reason);
    expect(reasonsIn(all)[0]).toBe(reason);
    expect(reason).toBeInstanceOf(StopReason);
  });

  test('is not made when nobody listens: nothing of the call is even read for it', async () => {
    const { clock, start } = rig();
    const { call, returns } = start(50);
    call.adopt(new HeldWork());
    let read = 0;
    call.outcome = () => {
      read += 1;
      throw new Error('nobody asked');
    };
    clock.advance(50);
    returns();
    await turns();
    clock.advance(LADDER_MS);
    await turns();
    expect(read).toBe(0);
  });
});

describe('a subscriber that throws', () => {
  test('harms no call: the others hear, all are answered, and Node reports an uncaught exception for each', async () => {
    expect(await reportOf('channel-throws.mjs', 'caught')).toEqual({
      answers: ['cancelled', 'cancelled', 'value'],
      states: ['completed', 'stopped', 'refused'],
      inFlight: 0,
      heard: 7,
      uncaught: 7,
    });
  });

  test('ends a process that hears of no uncaught exceptions, as any of those does', async () => {
    const { code, stderr } = await runSubject('channel-throws.mjs');
    expect(code).toBe(1);
    expect(stderr).toContain('careless: estop:');
  });
});

function reasonsIn(all: readonly Published[]): unknown[] {
  return all.map(({ event }) => (event as { reason: unknown }).reason);
}
