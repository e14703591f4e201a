/** What the program around the servers can do: cancel, list, count, release, stop; and what the callers are told. */
import { OUTCOME_META } from '@estop/server';
import { describe, expect, test } from 'vitest';
import { RESULT } from '../support/held-server.ts';
import { ERAS } from '../support/peer.ts';
import { aborted, queued, world } from '../support/protected.ts';
import { turns } from '../support/waiting.ts';

describe.each(ERAS)('estop.cancel(), %s', (era) => {
  test('stops a call that runs, and its caller is answered: -32800, with what is known', async () => {
    const { estop, peer, start, answer } = await world({ era });
    const { ctx, signal, returns } = await start(7);
    const { scope } = estop.call(ctx);
    expect(estop.cancel(scope, 7, 'no longer needed')).toEqual({ stopped: 1 });
    expect(signal.reason).toMatchObject({
      kind: 'cancelled',
      by: 'library',
      message: 'Request cancelled: no longer needed',
    });
    expect((await answer(7)).error).toEqual({
      code: -32_800,
      message: 'Request cancelled',
      data: { kind: 'cancelled', handler: 'running', work: 'none' },
    });
    returns(RESULT);
    await peer.fence();
    expect(peer.about(7)).toHaveLength(1);
  });

  test('stops a call that waits, which then never starts, and is answered the same way', async () => {
    const { estop, held, peer, start, answer } = await world({ era, estop: { maxConcurrency: 1 } });
    const first = await start(1);
    peer.write(peer.callTool(2, 'hold'));
    await queued(estop, 1);
    expect(estop.cancel(estop.call(first.ctx).scope, 2)).toEqual({ stopped: 1 });
    expect((await answer(2)).error).toMatchObject({
      code: -32_800,
      data: { kind: 'cancelled', handler: 'settled', work: 'none' },
    });
    first.returns(RESULT);
    await peer.fence();
    expect(held.starts).toEqual([1]);
    expect(estop.stats().inFlight).toBe(0);
  });

  test('before the call waits for it: the call never starts, is answered, and the next one runs', async () => {
    const { estop, held, peer, start, answer } = await world({ era });
    const first = await start(1);
    const { scope } = estop.call(first.ctx);
    expect(estop.cancel(scope, 7)).toEqual({ recorded: true });
    expect(estop.stats().recorded).toBe(1);
    peer.write(peer.callTool(7, 'hold'));
    expect((await answer(7)).error).toMatchObject({ code: -32_800, data: { kind: 'cancelled' } });
    expect(estop.stats().recorded).toBe(0);
    peer.frames.length = 0;
    peer.write(peer.callTool(7, 'hold'));
    await held.handlerStarted(7);
    expect(held.starts).toEqual([1, 7]);
  });

  test('with another scope, or an id of another kind, stops nothing', async () => {
    const { estop, start } = await world({ era });
    const { ctx, signal } = await start(7);
    const { scope } = estop.call(ctx);
    expect(estop.cancel(scope, '7')).toEqual({ recorded: true });
    expect(estop.cancel('connection:none', 7)).toEqual({ recorded: true });
    expect(estop.cancel(scope, { id: 7 })).toEqual({ refused: 'invalid_request_id' });
    expect(signal.aborted).toBe(false);
  });
});

describe.each(ERAS)('estop.calls() and estop.stats(), %s', (era) => {
  test('have every call that has not left, in whatever state', async () => {
    const { clock, estop, peer, start, answer } = await world({
      era,
      estop: { maxConcurrency: 2 },
      protect: { tools: { short: { timeoutMs: 500 } } },
      tools: ['short'],
    });
    const stuck = await start(1, 'short');
    clock.advance(500);
    await answer(1);
    const second = await start(2);
    const third = await start(3);
    peer.write(peer.callTool(4, 'hold'));
    await queued(estop, 1);
    expect(estop.calls().map(({ id, state }) => [id, state])).toEqual([
      [1, 'abandoned'],
      [2, 'running'],
      [3, 'running'],
      [4, 'queued'],
    ]);
    expect(estop.stats()).toEqual({
      queued: 1,
      running: 2,
      abandoned: 1,
      inFlight: 4,
      recorded: 0,
      ignoredCancels: 0,
    });
    for (const { returns } of [stuck, second, third]) returns(RESULT);
  });

  test('calls() is a copy, and empty when nothing is in flight', async () => {
    const { estop, start, answer } = await world({ era });
    const { ctx, returns } = await start(7);
    const calls = estop.calls();
    expect(calls).toEqual([estop.call(ctx)]);
    calls.length = 0;
    expect(estop.calls()).toHaveLength(1);
    returns(RESULT);
    await answer(7);
    await turns();
    expect(estop.calls()).toEqual([]);
  });

  test('lists and pings are in neither', async () => {
    const { estop, peer } = await world({ era });
    peer.write(peer.frame(7, 'tools/list'));
    expect(estop.stats().inFlight).toBe(0);
    await peer.answer(7);
  });
});

describe('estop.release()', () => {
  test('of a call that waits, or holds nothing any more, is false and changes nothing', async () => {
    const { estop, held, peer, start, answer } = await world({ estop: { maxConcurrency: 1 } });
    const { ctx, returns } = await start(1);
    peer.write(peer.callTool(2, 'hold'));
    await queued(estop, 1);
    const waiting = estop.calls().find(({ id }) => id === 2);
    expect(waiting && estop.release(waiting)).toBe(false);
    expect(estop.stats().queued).toBe(1);
    returns(RESULT);
    await answer(1);
    await held.handlerStarted(2);
    expect(estop.release(estop.call(ctx))).toBe(false);
  });

  test('of a call that runs lets the next one in beside it, and its answer still counts', async () => {
    const { estop, held, peer, start, answer } = await world({ estop: { maxConcurrency: 1 } });
    const { ctx, returns } = await start(1);
    peer.write(peer.callTool(2, 'hold'));
    await queued(estop, 1);
    expect(estop.release(estop.call(ctx))).toBe(true);
    await held.handlerStarted(2);
    expect(estop.stats()).toMatchObject({ running: 2, queued: 0 });
    returns(RESULT);
    expect((await answer(1)).result).toMatchObject(RESULT);
  });
});

describe.each(ERAS)('estop.stop(), %s', (era) => {
  test('stops what runs and what waits, as shutdown, and both are answered', async () => {
    const { estop, held, peer, start, answer } = await world({ era, estop: { maxConcurrency: 1 } });
    const first = await start(1);
    peer.write(peer.callTool(2, 'hold'));
    await queued(estop, 1);
    const stopped = estop.stop();
    expect(first.signal.reason).toMatchObject({ kind: 'shutdown' });
    first.returns(RESULT);
    await stopped;
    for (const id of [1, 2]) {
      expect((await answer(id)).result).toMatchObject({
        isError: true,
        content: [{ text: 'The server is shutting down' }],
        _meta: { [OUTCOME_META]: { kind: 'shutdown' } },
      });
    }
    expect(held.starts).toEqual([1]);
    expect(estop.stats().inFlight).toBe(0);
  });

  test('refuses what comes later, as shutdown, answered; and closes no connection', async () => {
    const { estop, held, peer, answer } = await world({ era });
    await estop.stop();
    peer.write(peer.callTool(7, 'hold'), peer.frame(8, 'prompts/get', { name: 'hold' }));
    expect((await answer(7)).result).toMatchObject({ isError: true, _meta: { [OUTCOME_META]: { kind: 'shutdown' } } });
    expect((await answer(8)).error).toMatchObject({ code: -32_000, data: { kind: 'shutdown' } });
    expect((await peer.request('tools/list')).result.tools).toBeDefined();
    expect(held.starts).toEqual([]);
  });

  test('resolves when the grace is over, though a handler listens to nothing', async () => {
    const { clock, estop, start } = await world({ era });
    const { returns } = await start(7);
    let done = false;
    const stopped = estop.stop().then(() => {
      done = true;
    });
    await turns();
    expect(done).toBe(false);
    clock.advance(10_000);
    await stopped;
    expect(estop.stats()).toMatchObject({ abandoned: 1, inFlight: 1 });
    returns(RESULT);
    await turns();
    expect(estop.stats().inFlight).toBe(0);
  });

  test('twice is as good as once', async () => {
    const { estop, start } = await world({ era });
    const { signal, returns } = await start(7);
    const both = Promise.all([estop.stop(), estop.stop()]);
    returns(RESULT);
    await both;
    expect((await aborted(signal)).reason).toMatchObject({ kind: 'shutdown' });
  });

  test('leaves no timer that keeps a process alive', async () => {
    const { clock, estop, start, answer } = await world({ era, estop: { timeoutMs: 1_000, cleanupMs: 60_000 } });
    const { returns } = await start(7);
    const stopped = estop.stop();
    returns(RESULT);
    await stopped;
    await answer(7);
    expect(clock.pending).toBe(0);
  });
});
