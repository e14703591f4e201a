/**
 * The invariants of DESIGN.md, under every interleaving that fast-check comes up with: calls with colliding ids in two
 * scopes, whose arrival, start, end, cancel, deadline, disconnect and grace come in any order, also in one turn.
 */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { type Call, type CallState, cancelled, disconnected, Engine } from '@estop/server/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { processEvents } from '../support/process-events.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { type Latch, latch, turns } from '../support/waiting.ts';

const GRACE_MS = 20;
const RUNS = 4_000;

const ALLOWED: Readonly<Record<CallState, readonly CallState[]>> = {
  queued: ['running', 'refused', 'failed'],
  running: ['completed', 'failed', 'stopping'],
  stopping: ['stopped', 'abandoned'],
  abandoned: ['stopped'],
  completed: [],
  failed: [],
  refused: [],
  stopped: [],
};

const SCOPES = ['connection:1', 'connection:2'] as const;
const IDS = [7, '7', 0] as const;

type Step =
  | { do: 'arrive'; scope: string; id: unknown; look: boolean }
  | { do: 'run'; which: number; timeoutMs: number }
  | { do: 'settle'; which: number; how: 'returns' | 'throws' | 'throws null' | 'throws its reason' }
  | { do: 'cancel'; scope: string; id: unknown }
  | { do: 'disconnect'; scope: string }
  | { do: 'discard'; which: number }
  | { do: 'time'; ms: number }
  | { do: 'turn' };

const which = fc.nat(5);
const scope = fc.constantFrom(...SCOPES);
const id = fc.constantFrom<unknown>(...IDS);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('arrive' as const), scope, id, look: fc.boolean() }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('run' as const),
      which,
      timeoutMs: fc.constantFrom(5, 10, GRACE_MS, Infinity),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('settle' as const),
      which,
      how: fc.constantFrom('returns' as const, 'throws' as const, 'throws null' as const, 'throws its reason' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('cancel' as const), scope, id }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('disconnect' as const), scope }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('discard' as const), which }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('time' as const), ms: fc.constantFrom(1, 5, GRACE_MS, 2_000) }) },
  { weight: 5, arbitrary: fc.constant({ do: 'turn' as const }) },
);

/** What the test itself knows of one call, from the outside. */
interface Seen {
  readonly call: Call;
  readonly handler: Latch<unknown>;
  starts: number;
  startedAfterItsStop: boolean;
  readonly looked: boolean;
  ran: boolean;
  timed: boolean;
  answers: { value?: unknown; error?: unknown }[];
  left: number;
  fired: unknown[];
}

class World {
  readonly clock = new VirtualClock();
  readonly calls: Seen[] = [];
  readonly badMoves: string[] = [];
  readonly engine: Engine;

  constructor() {
    const { badMoves } = this;
    this.engine = new (class extends Engine {
      override moved(call: Call, from: CallState, to: CallState): void {
        super.moved(call, from, to);
        if (!ALLOWED[from].includes(to)) badMoves.push(`${from} -> ${to}`);
      }
    })({ clock: this.clock, graceMs: GRACE_MS });
  }

  take(step: Step): void | Promise<void> {
    switch (step.do) {
      case 'arrive':
        return this.#arrive(step.scope, step.id, step.look);
      case 'run':
        return this.#run(this.calls[step.which], step.timeoutMs);
      case 'settle':
        return this.#settle(this.calls[step.which], step.how);
      case 'cancel':
        return void this.engine.registry.cancel(step.scope, step.id, cancelled('client'));
      case 'disconnect':
        return this.engine.registry.stopScope(step.scope, disconnected());
      case 'discard':
        return this.calls[step.which]?.call.discard();
      case 'time':
        return this.clock.advance(step.ms);
      case 'turn':
        return oneTurn();
    }
  }

  /** Every handler settles and every wait is over: nothing may be left. */
  async end(): Promise<void> {
    for (const seen of this.calls) {
      seen.handler.open('at the end');
      seen.call.discard();
    }
    await oneTurn();
    this.clock.advance(GRACE_MS + 2_000);
    await oneTurn();
  }

  #arrive(scope: string, id: unknown, look: boolean): void {
    const seen: Omit<Seen, 'call'> & { call?: Call } = {
      handler: latch<unknown>(),
      starts: 0,
      startedAfterItsStop: false,
      looked: look,
      ran: false,
      timed: false,
      answers: [],
      left: 0,
      fired: [],
    };
    const owner = {
      left() {
        seen.left += 1;
      },
    };
    seen.call = this.engine.begin({ scope, id, method: 'tools/call', name: 'tool', owner });
    const { signal } = look ? seen.call : {};
    signal?.addEventListener('abort', () => seen.fired.push(signal.reason));
    this.calls.push(seen as Seen);
  }

  #run(seen: Seen | undefined, timeoutMs: number): void {
    if (seen === undefined || seen.ran || seen.call.state === 'failed') return;
    seen.ran = true;
    seen.timed = timeoutMs !== Infinity;
    const handler = (): Promise<unknown> => {
      seen.starts += 1;
      seen.startedAfterItsStop = seen.call.isCancelled;
      return seen.handler.promise;
    };
    seen.call.run(handler, timeoutMs).then(
      (value) => seen.answers.push({ value }),
      (error: unknown) => seen.answers.push({ error }),
    );
  }

  #settle(seen: Seen | undefined, how: Extract<Step, { do: 'settle' }>['how']): void {
    if (seen === undefined) return;
    if (how === 'returns') seen.handler.open('value');
    else if (how === 'throws null') seen.handler.fail(null);
    else if (how === 'throws its reason') seen.handler.fail(seen.call.reason);
    else seen.handler.fail(new Error('mine'));
    seen.handler.promise.catch(() => {});
  }
}

function oneTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

type Invariant = (world: World) => void;

const ALWAYS: Readonly<Record<string, Invariant>> = {
  'a call is answered at most once, and by whichever came first': ({ calls }) => {
    for (const { call, answers } of calls) {
      assert.ok(answers.length <= 1);
      const [answer] = answers;
      if (answer === undefined) continue;
      if (call.reason) assert.equal(answer.error, call.reason);
      else assert.ok(['completed', 'failed'].includes(call.state), call.state);
    }
  },
  'a call leaves the registry at most once, and the registry holds exactly those that have not': ({
    calls,
    engine,
  }) => {
    for (const { left } of calls) assert.ok(left <= 1);
    const there = new Set(calls.filter(({ left }) => left === 0).map(({ call }) => call));
    const held = engine.registry.calls();
    assert.equal(held.length, there.size);
    assert.ok(held.every((call) => there.has(call)));
  },
  'a handler never starts after its stop, and never twice': ({ calls }) => {
    for (const { starts, startedAfterItsStop } of calls) {
      assert.equal(startedAfterItsStop, false);
      assert.ok(starts <= 1);
    }
  },
  'the counts are what a recount gives': ({ calls, engine }) => {
    const count = (state: CallState): number => calls.filter(({ call }) => call.state === state).length;
    assert.deepEqual(engine.stats(), {
      running: count('running'),
      abandoned: count('abandoned'),
      inFlight: calls.filter(({ left }) => left === 0).length,
      ignoredCancels: engine.registry.ignoredCancels,
    });
  },
  'a row can be cancelled until its call is answered or stopped, and no longer': ({ calls, engine }) => {
    for (const scope of SCOPES) {
      for (const id of IDS) {
        const open = calls.some(
          ({ call }) => call.scope === scope && call.id === id && (call.state === 'queued' || call.state === 'running'),
        );
        assert.equal(engine.registry.isInFlight(scope, id), open);
      }
    }
  },
  'a state moves only along its arrows': ({ badMoves }) => assert.deepEqual(badMoves, []),
  'a timer is held by a running call with a deadline, or by a ladder': ({ calls, clock }) => {
    const deadlines = calls.filter(({ call, timed }) => call.state === 'running' && timed).length;
    const ladders = calls.filter(({ call, left }) => call.reason && left === 0).length;
    assert.ok(clock.pending >= deadlines && clock.pending <= deadlines + ladders, `${clock.pending} timers`);
  },
  'the signal fires at the stop, once, with the reason, and not otherwise': ({ calls }) => {
    for (const { call, looked, fired } of calls) {
      assert.equal(fired.length, looked && call.reason ? 1 : 0);
      if (fired.length > 0) assert.equal(fired[0], call.reason);
    }
  },
};

const WHEN_ALL_IS_OVER: Readonly<Record<string, Invariant>> = {
  'a call that ran is answered, exactly once': ({ calls }) => {
    for (const { starts, answers } of calls) if (starts > 0) assert.equal(answers.length, 1);
  },
  'a call has left, exactly once': ({ calls }) => assert.ok(calls.every(({ left }) => left === 1)),
  'timers are gone': ({ clock }) => assert.equal(clock.pending, 0),
  'no listener of ours is left on a signal': ({ calls }) => {
    for (const { call, looked } of calls) {
      assert.equal(getEventListeners(call.signal, 'abort').length, looked ? 1 : 0);
    }
  },
  'nothing is counted any more': ({ engine }) => {
    const { running, abandoned, inFlight } = engine.stats();
    assert.deepEqual([running, abandoned, inFlight], [0, 0, 0]);
  },
  'a stopped call ends as stopped or refused, any other as completed or failed': ({ calls }) => {
    for (const { call } of calls) {
      assert.ok((call.reason ? ['stopped', 'refused'] : ['completed', 'failed']).includes(call.state), call.state);
    }
  },
};

test('the invariants of a call hold under every interleaving', { timeout: 60_000 }, async () => {
  const events = processEvents();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 24, size: 'max' }), async (steps) => {
      const world = new World();
      for (const step of steps) {
        await world.take(step);
        check(ALWAYS, world);
      }
      await world.end();
      check(ALWAYS, world);
      check(WHEN_ALL_IS_OVER, world);
    }),
    { numRuns: RUNS },
  );
  await turns();
  expect(events.unhandled).toEqual([]);
});

function check(invariants: Readonly<Record<string, Invariant>>, world: World): void {
  for (const [name, holds] of Object.entries(invariants)) {
    try {
      holds(world);
    } catch (error) {
      throw new Error(`${name}: ${(error as Error).message}`, { cause: error });
    }
  }
}
