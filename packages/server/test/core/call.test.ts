import { cancelled, disconnected, Engine, StopReason, type WorkFact } from '@estop/server/core';
import { describe, expect, test } from 'vitest';
import { processEvents } from '../support/process-events.ts';
import { answerOf, GRACE_MS, RecordingEngine, rig } from '../support/rig.ts';
import { latch, turns } from '../support/waiting.ts';

/** Longer than any wait of the ladder. */
const LADDER_MS = GRACE_MS + 5_000;

describe('a call that nobody stops', () => {
  test('goes from queued over running to completed, and answers with what its handler returned', async () => {
    const { engine, start, left } = rig({ engine: RecordingEngine });
    const { call, answer, returns } = start();
    expect(call.state).toBe('running');
    returns('a value');
    await turns();

    expect(call.outcome()).toEqual({ state: 'completed', handler: 'settled', work: 'none' });
    expect(answer).toEqual({ times: 1, value: 'a value' });
    expect((engine as RecordingEngine).moves.map(({ to }) => to)).toEqual(['running', 'completed']);
    expect(left).toEqual([call]);
  });

  test('fails with exactly what its handler rejected with', async () => {
    const { start } = rig();
    const { call, answer, throws } = start();
    const error = new Error('mine');
    throws(error);
    await turns();

    expect(call.state).toBe('failed');
    expect(answer).toEqual({ times: 1, error });
    expect(answer.error).toBe(error);
  });

  test('fails in the same way when its handler throws before it returns a promise', async () => {
    const { arrive, left } = rig();
    const call = arrive();
    const error = new Error('at once');
    const answer = answerOf(
      call.run(
        () => {
          throw error;
        },
        { timeoutMs: 50 },
      ),
    );
    await turns();

    expect(call.state).toBe('failed');
    expect(answer.error).toBe(error);
    expect(left).toEqual([call]);
  });

  test.each([null, undefined, 0, ''])('fails with %j when its handler throws that', async (thrown) => {
    const { start, left } = rig();
    const { call, answer, throws } = start(50);
    throws(thrown);
    await turns();

    expect(call.state).toBe('failed');
    expect(answer).toEqual({ times: 1, error: thrown });
    expect(left).toEqual([call]);
  });

  test('answers with what a thenable that is no promise resolves to', async () => {
    const { arrive } = rig();
    // biome-ignore lint/suspicious/noThenProperty: a thenable is what it is about
    const thenable = { then: (resolve: (value: string) => void) => resolve('from a thenable') };
    const answer = answerOf(arrive().run(() => thenable as PromiseLike<string>, { timeoutMs: Infinity }));
    await turns();
    expect(answer.value).toBe('from a thenable');
  });

  test('does not fire its signal when it ends well', async () => {
    const { start } = rig();
    const { call, returns } = start(50);
    let fired = 0;
    call.signal.addEventListener('abort', () => (fired += 1));
    returns();
    await turns();
    expect(fired).toBe(0);
    expect(call.signal.aborted).toBe(false);
  });

  test('leaves no deadline timer behind when it settles', async () => {
    const { clock, start } = rig();
    const well = start(50);
    const badly = start(50);
    expect(clock.pending).toBe(1);
    well.returns();
    badly.throws(new Error('mine'));
    await turns();
    expect(clock.pending).toBe(0);
    // What is there for the next call keeps no process alive, and goes when its time has come.
    clock.advance(50);
    expect(clock.background).toBe(0);
  });

  test('holds no timer either while the work that it left behind is being ended', async () => {
    const { clock, start, left } = rig();
    const { call, returns } = start(50);
    const ended = latch();
    let fact: WorkFact = 'unknown';
    call.adopt({
      kind: 'thread',
      listens: true,
      ended: ended.promise,
      signal() {},
      end() {},
      get fact() {
        return fact;
      },
    });
    clock.advance(10);
    returns();
    await turns();
    expect(left).toEqual([]);
    clock.advance(45);
    expect(call.outcome()).toEqual({ state: 'completed', handler: 'settled', work: 'unknown', rung: 'thread' });
    fact = 'ended';
    ended.open();
    await turns();
    expect(left).toEqual([call]);
    expect(clock.pending).toBe(0);
  });

  test('sets no timer at all without a deadline', () => {
    const { clock, start } = rig();
    start(Infinity);
    expect(clock.pending).toBe(0);
  });

  test('cannot be run twice', async () => {
    const { start } = rig();
    const { call } = start();
    expect(() => call.run(() => 1, { timeoutMs: Infinity })).toThrow('tool "scrape" was started twice');
  });
});

describe('a stop before the handler has started', () => {
  test('refuses the call: its handler never starts, and its run rejects with the reason', async () => {
    const { arrive, left } = rig();
    const call = arrive();
    const reason = cancelled('client');
    expect(call.stop(reason)).toBe(true);
    let started = false;
    const answer = answerOf(
      call.run(
        () => {
          started = true;
        },
        { timeoutMs: 50 },
      ),
    );
    await turns();

    expect(started).toBe(false);
    expect(call.outcome()).toEqual({
      state: 'refused',
      reason: 'cancelled',
      by: 'client',
      handler: 'settled',
      work: 'none',
    });
    expect(answer.error).toBe(reason);
    expect(left).toEqual([call]);
  });

  test('fires a signal that somebody was looking at already', () => {
    const { arrive } = rig();
    const call = arrive();
    const { signal } = call;
    const reason = cancelled('client');
    call.stop(reason);
    expect(signal.reason).toBe(reason);
  });

  test('holds no timer, and counts nothing', () => {
    const { arrive, engine, clock } = rig();
    arrive().stop(shutdown());
    expect(clock.pending).toBe(0);
    expect(engine.stats()).toEqual({
      queued: 0,
      running: 0,
      abandoned: 0,
      inFlight: 0,
      recorded: 0,
      ignoredCancels: 0,
    });
  });

  test('a call that is given up before its start leaves once, and its handler cannot be started any more', async () => {
    const { arrive, engine, left } = rig();
    const call = arrive();
    call.discard();
    call.discard();
    expect(call.stop(shutdown())).toBe(false);
    expect(left).toEqual([call]);
    expect(engine.stats().inFlight).toBe(0);
    expect(() => call.run(() => 1, { timeoutMs: Infinity })).toThrow('started twice');
  });

  test('giving up a call that runs already does nothing', () => {
    const { start, engine } = rig();
    const { call } = start();
    call.discard();
    expect(call.state).toBe('running');
    expect(engine.stats()).toMatchObject({ running: 1, inFlight: 1 });
  });
});

describe('first wins, once', () => {
  test('a stop after the answer is a no-op', async () => {
    const { start } = rig();
    const { call, answer, returns } = start();
    const { signal } = call;
    returns('value');
    await turns();

    expect(call.stop(cancelled('client'))).toBe(false);
    await turns();
    expect(call.outcome()).toEqual({ state: 'completed', handler: 'settled', work: 'none' });
    expect(signal.aborted).toBe(false);
    expect(answer).toEqual({ times: 1, value: 'value' });
  });

  test('what a handler returns after its stop is no second answer', async () => {
    const { start } = rig();
    const { call, answer, returns } = start();
    const reason = cancelled('client');
    call.stop(reason);
    returns('too late');
    await turns();
    expect(answer).toEqual({ times: 1, error: reason });
    expect(call.state).toBe('stopped');
  });

  test('a second stop changes neither the reason nor the answer', async () => {
    const { start, clock } = rig();
    const { call, answer } = start(50);
    const first = cancelled('client');
    expect(call.stop(first)).toBe(true);
    expect(call.stop(disconnected())).toBe(false);
    clock.advance(50);
    await turns();
    expect(call.reason).toBe(first);
    expect(call.signal.reason).toBe(first);
    expect(answer).toEqual({ times: 1, error: first });
  });

  test('a handler that stops its own call as it starts is answered with that reason', async () => {
    const { arrive } = rig();
    const call = arrive();
    const reason = cancelled('library');
    const answer = answerOf(
      call.run(
        () => {
          call.stop(reason);
          return 'value';
        },
        { timeoutMs: Infinity },
      ),
    );
    await turns();
    expect(answer).toEqual({ times: 1, error: reason });
    expect(call.state).toBe('stopped');
  });

  test('a handler that listens and throws the reason is answered with the very same object', async () => {
    const { arrive } = rig();
    const call = arrive();
    const answer = answerOf(
      call.run(
        async () => {
          await new Promise((_, reject) => call.signal.addEventListener('abort', () => reject(call.signal.reason)));
        },
        { timeoutMs: Infinity },
      ),
    );
    const reason = cancelled('client');
    call.stop(reason);
    await turns();
    expect(answer.error).toBe(reason);
    expect(call.state).toBe('stopped');
  });

  test('a status is never read from a text: a handler that throws what reads like a stop has failed', async () => {
    const texts = ['Request cancelled', 'The client is gone', 'tool "scrape" reached its deadline of 50 ms', 'aborted'];
    for (const text of texts) {
      const { start, engine } = rig();
      const { call, answer, throws } = start(50);
      const error = Object.assign(new Error(text), { name: 'AbortError', code: -32_800, kind: 'cancelled' });
      throws(error);
      await turns();
      expect(call.outcome()).toEqual({ state: 'failed', handler: 'settled', work: 'none' });
      expect(answer.error).toBe(error);
      expect(engine.stats().inFlight).toBe(0);
    }
  });

  test('nor from the words of a client: a cancel that reads like a deadline is a cancel', () => {
    const { start } = rig();
    const { call } = start(50);
    call.stop(cancelled('client', 'tool "scrape" reached its deadline of 50 ms'));
    expect(call.outcome()).toMatchObject({ state: 'stopping', reason: 'cancelled', by: 'client' });
  });

  test('a handler that rejects after its stop is no unhandled rejection', async () => {
    const events = processEvents();
    const { start } = rig();
    const { call, throws } = start();
    call.stop(cancelled('client'));
    await turns();
    throws(new Error('late'));
    await turns();
    expect(events.unhandled).toEqual([]);
    expect(call.state).toBe('stopped');
  });
});

describe('the deadline', () => {
  test('answers while the handler runs on, which counts as abandoned until it settles', async () => {
    const { clock, engine, start, left } = rig();
    const { call, answer, returns } = start(50);
    clock.advance(50);
    await turns();

    expect(call.outcome()).toEqual({
      state: 'abandoned',
      reason: 'deadline',
      handler: 'running',
      work: 'none',
      rung: 'signal',
    });
    expect(answer.error).toMatchObject({
      name: 'TimeoutError',
      kind: 'deadline',
      timeoutMs: 50,
      message: 'tool "scrape" reached its deadline of 50 ms',
    });
    expect(engine.stats()).toMatchObject({ running: 0, abandoned: 1, inFlight: 1 });

    clock.advance(LADDER_MS);
    await turns();
    expect(engine.stats()).toMatchObject({ abandoned: 1, inFlight: 1 });
    expect(clock.pending).toBe(0);
    expect(left).toEqual([]);

    returns();
    await turns();
    expect(call.state).toBe('stopped');
    expect(engine.stats()).toMatchObject({ abandoned: 0, inFlight: 0 });
    expect(left).toEqual([call]);
  });

  test('fires the signal with its own reason', () => {
    const { clock, start } = rig();
    const { call } = start(50);
    const { signal } = call;
    clock.advance(50);
    expect(signal.reason).toMatchObject({ kind: 'deadline', timeoutMs: 50 });
  });

  test('names the method of a call that has no name', () => {
    const { clock, start } = rig();
    const { call } = start(50, { method: 'completion/complete', name: undefined });
    clock.advance(50);
    expect(call.reason?.message).toBe('completion/complete reached its deadline of 50 ms');
  });

  test('remaining() counts down to 0, is Infinity without a deadline, and 0 after any stop', () => {
    const { clock, start } = rig();
    const { call } = start(50);
    const endless = start().call;
    expect(call.remaining()).toBe(50);
    clock.advance(20);
    expect(call.remaining()).toBe(30);
    expect(endless.remaining()).toBe(Infinity);
    clock.advance(40);
    expect(call.remaining()).toBe(0);
    endless.stop(cancelled('client'));
    expect(endless.remaining()).toBe(0);
  });
});

describe('any other stop', () => {
  test('has the caller answered now, and the handler given the grace', async () => {
    const { clock, engine, start } = rig();
    const { call, answer } = start();
    call.stop(cancelled('client'));
    await turns();
    expect(answer.times).toBe(1);
    expect(call.state).toBe('stopping');

    clock.advance(GRACE_MS - 1);
    await turns();
    expect(call.state).toBe('stopping');
    expect(engine.stats()).toMatchObject({ running: 0, abandoned: 0, inFlight: 1 });

    clock.advance(1);
    await turns();
    expect(call.state).toBe('abandoned');
    expect(engine.stats()).toMatchObject({ abandoned: 1, inFlight: 1 });
  });

  test('is over when the handler settles within the grace, and takes the grace timer with it', async () => {
    const { clock, start, left } = rig();
    const { call, throws } = start(50);
    call.stop(cancelled('client'));
    expect(clock.pending).toBe(1);
    throws(new Error('I was stopped'));
    await turns();

    expect(call.outcome()).toEqual({
      state: 'stopped',
      reason: 'cancelled',
      by: 'client',
      handler: 'settled',
      work: 'none',
      rung: 'signal',
      signalToSettledMs: 0,
    });
    expect(clock.pending).toBe(0);
    expect(left).toEqual([call]);
  });

  test('an abandoned call that settles after all is stopped, and leaves exactly once', async () => {
    const { clock, engine, start, left } = rig();
    const { call, returns } = start();
    call.stop(disconnected());
    clock.advance(LADDER_MS);
    await turns();
    expect(left).toEqual([]);
    returns();
    await turns();
    expect(call.state).toBe('stopped');
    expect(left).toEqual([call]);
    expect(engine.stats()).toMatchObject({ abandoned: 0, inFlight: 0 });
  });

  test('takes every move of the ladder in order', async () => {
    const { clock, engine, start } = rig({ engine: RecordingEngine });
    const { call, returns } = start();
    call.stop(shutdown());
    clock.advance(LADDER_MS);
    await turns();
    returns();
    await turns();
    expect((engine as RecordingEngine).moves.map(({ from, to }) => `${from} -> ${to}`)).toEqual([
      'queued -> running',
      'running -> stopping',
      'stopping -> abandoned',
      'abandoned -> stopped',
    ]);
  });

  test('with a grace of 0 nothing is waited for', async () => {
    const { clock, start } = rig({ graceMs: 0 });
    const { call } = start();
    call.stop(cancelled('client'));
    clock.advance(0);
    await turns();
    expect(call.state).toBe('abandoned');
  });

  test('with an endless grace the call is stopping until its handler settles, and holds no timer', async () => {
    const { clock, start } = rig({ graceMs: Infinity });
    const { call, returns } = start();
    call.stop(cancelled('client'));
    clock.advance(2 ** 40);
    await turns();
    expect(call.state).toBe('stopping');
    expect(clock.pending).toBe(0);
    returns();
    await turns();
    expect(call.state).toBe('stopped');
  });

  test('a grace that is longer than a Node timer is not over at once', async () => {
    const { clock, start } = rig({ graceMs: 2 ** 40 });
    const { call } = start();
    call.stop(cancelled('client'));
    clock.advance(1_000);
    await turns();
    expect(call.state).toBe('stopping');
  });

  test.each([
    [NaN, 'NaN'],
    [-1, '-1'],
    ['5', '"5"'],
    [null, 'null'],
  ])('a grace of %o is refused where it is given', (graceMs, shown) => {
    expect(() => new Engine({ graceMs: graceMs as number })).toThrow(
      `estop: graceMs must be a number of milliseconds >= 0, got ${shown}`,
    );
  });
});

describe('what a handler sees of its stop', () => {
  test('throwIfStopped throws signal.reason itself, and nothing before the stop', () => {
    const { start } = rig();
    const { call } = start();
    expect(() => call.throwIfStopped()).not.toThrow();
    const reason = cancelled('client', 'no longer needed');
    call.stop(reason);
    expect(thrownBy(() => call.throwIfStopped())).toBe(call.signal.reason);
    expect(call.signal.reason).toBe(reason);
  });

  test('a signal that is first looked at after the stop is aborted already', () => {
    const { start } = rig();
    const { call } = start();
    const reason = cancelled('client');
    call.stop(reason);
    expect(call.signal.aborted).toBe(true);
    expect(call.signal.reason).toBe(reason);
  });

  test('the signal is the same object each time, and fires once', () => {
    const { start } = rig();
    const { call } = start();
    const { signal } = call;
    let fired = 0;
    signal.addEventListener('abort', () => (fired += 1));
    call.stop(cancelled('client'));
    call.stop(shutdown());
    expect(call.signal).toBe(signal);
    expect(fired).toBe(1);
  });

  test('isCancelled says it at the moment of the stop, and for every reason', () => {
    for (const reason of [cancelled('client'), disconnected(), shutdown()] as StopReason[]) {
      const { call } = rig().start();
      expect(call.isCancelled).toBe(false);
      call.stop(reason);
      expect(call.isCancelled).toBe(true);
    }
  });

  test('the listeners run before the stop returns, with the reason in place', () => {
    const { start } = rig();
    const { call } = start();
    const seen: unknown[] = [];
    call.signal.addEventListener('abort', () => seen.push(call.isCancelled, call.state, call.signal.reason));
    const reason = cancelled('client');
    call.stop(reason);
    expect(seen).toEqual([true, 'stopping', reason]);
  });
});

function shutdown(): StopReason {
  return new StopReason('shutdown', 'The server is shutting down');
}

function thrownBy(run: () => void): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error('it did not throw');
}
