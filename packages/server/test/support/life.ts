/**
 * Lives of calls, step by step, and a naive account of what must be true of them: an engine with small limits, calls
 * with colliding ids in a few scopes, and whatever can happen to them, in any order.
 */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import {
  type Call,
  type CallState,
  cancelled,
  disconnected,
  Engine,
  type EngineOptions,
  type Gate,
  isShared,
  type Owner,
  type StopReason,
  shutdown,
} from '@estop/server/core';
import { HeldWork } from './held-work.ts';
import type { Random } from './random.ts';
import { VirtualClock } from './virtual-clock.ts';
import { type Latch, latch, turn } from './waiting.ts';

const GRACE_MS = 20;
const TTL_MS = 50;
const RECORDED_PER_SCOPE = 2;
/** How far beyond its length progress extends a deadline, at most. */
const EXTENSION_MS = 4;

const SCOPES = ['connection:1', 'session:1', 'principal:1'] as const;
const IDS: readonly (string | number)[] = [7, '7', 0];
const TIMEOUTS = [5, 10, GRACE_MS, Infinity] as const;
const TIMES = [1, 5, GRACE_MS, TTL_MS, 1_500] as const;
const HOW = ['returns', 'throws', 'throws null', 'throws its reason'] as const;
const GATES = ['none', 'none', 'limit', 'mutex', 'mutex'] as const;
const LOOKS = ['no', 'no', 'signal', 'onStop'] as const;

interface RunStep {
  readonly timeoutMs: number;
  readonly gate: (typeof GATES)[number];
  readonly extended: boolean;
}

export type Step =
  | ({ readonly do: 'start'; readonly scope: string; readonly id: string | number; readonly look: Look } & RunStep)
  | { readonly do: 'arrive'; readonly scope: string; readonly id: string | number; readonly look: Look }
  | ({ readonly do: 'run'; readonly which: number } & RunStep)
  | ({ readonly do: 'nest'; readonly which: number; readonly runs: boolean } & RunStep)
  | { readonly do: 'settle'; readonly which: number; readonly how: (typeof HOW)[number] }
  | { readonly do: 'cancel' | 'record' | 'clear'; readonly scope: string; readonly id: string | number }
  | { readonly do: 'disconnect' | 'owner gone'; readonly scope: string }
  | { readonly do: 'janitor' | 'close' | 'turn' }
  | {
      readonly do: 'discard' | 'release' | 'progress' | 'pause' | 'resume' | 'work' | 'work ends';
      readonly which: number;
    }
  | { readonly do: 'time' | 'ticks'; readonly n: number };
type Look = (typeof LOOKS)[number];

/** One life of an engine: its limits, and what happens. */
export interface Plan {
  readonly options: EngineOptions;
  readonly steps: readonly Step[];
}

type Pick4 = readonly [number, number, number, number];

/** How often each step comes, and what four numbers make of it. */
const STEPS: readonly (readonly [weight: number, make: (numbers: Pick4) => Step])[] = [
  [9, ([a, b, c, d]) => ({ do: 'start', ...where(a), look: at(LOOKS, b), ...how(c, d) })],
  [2, ([a, b]) => ({ do: 'arrive', ...where(a), look: at(LOOKS, b) })],
  [3, ([a, b, c]) => ({ do: 'run', which: a, ...how(b, c) })],
  [5, ([a, b, c, d]) => ({ do: 'nest', which: a, runs: d % 6 > 0, ...how(b, c) })],
  [7, ([a, b]) => ({ do: 'settle', which: a, how: at(HOW, b) })],
  [5, ([a]) => ({ do: 'cancel', ...where(a) })],
  [2, ([a]) => ({ do: 'record', ...where(a) })],
  [1, ([a]) => ({ do: 'clear', ...where(a) })],
  [1, ([a]) => ({ do: 'disconnect', scope: at(SCOPES, a) })],
  [1, ([a]) => ({ do: 'owner gone', scope: at(SCOPES, a) })],
  [2, () => ({ do: 'janitor' })],
  [1, () => ({ do: 'close' })],
  [1, ([a]) => ({ do: 'discard', which: a })],
  [2, ([a]) => ({ do: 'release', which: a })],
  [2, ([a]) => ({ do: 'progress', which: a })],
  [1, ([a]) => ({ do: 'pause', which: a })],
  [1, ([a]) => ({ do: 'resume', which: a })],
  [1, ([a]) => ({ do: 'work', which: a })],
  [1, ([a]) => ({ do: 'work ends', which: a })],
  [6, ([a]) => ({ do: 'time', n: at(TIMES, a) })],
  [6, ([a]) => ({ do: 'ticks', n: 1 + (a % 8) })],
  [4, () => ({ do: 'turn' })],
];
const WEIGHTED = STEPS.flatMap(([weight, make]) => Array.from({ length: weight }, () => make));

function where(n: number): { scope: string; id: string | number } {
  return { scope: at(SCOPES, n), id: at(IDS, Math.floor(n / SCOPES.length)) };
}

function how(a: number, b: number): RunStep {
  return { timeoutMs: at(TIMEOUTS, a), gate: at(GATES, b), extended: a % 3 === 0 };
}

function at<T>(choices: readonly T[], n: number): T {
  return choices[n % choices.length] as T;
}

export function stepOf(kind: number, numbers: Pick4): Step {
  return at(WEIGHTED, kind)(numbers);
}

export function optionsOf([a, b, c, d]: Pick4): EngineOptions {
  return {
    maxConcurrency: at([1, 2, 3, Infinity], a),
    maxConcurrencyPerScope: at([Infinity, 1, 2], b),
    maxQueue: at([1_000, 2, 1, 0], c),
    queueTimeoutMs: at([30, Infinity, 10], Math.floor(c / 4)),
    maxAbandoned: at([10, 1, 2], d),
    graceMs: at([GRACE_MS, GRACE_MS, 0], Math.floor(d / 3)),
  };
}

export function planOf(random: Random): Plan {
  const numbers = (): Pick4 => [random.below(60), random.below(60), random.below(60), random.below(60)];
  const steps = Array.from({ length: 5 + random.below(11) }, () => stepOf(random.below(WEIGHTED.length), numbers()));
  return { options: optionsOf(numbers()), steps };
}

/** @throws with the name of the invariant that does not hold */
export async function live(plan: Plan, thorough = false): Promise<void> {
  const world = new World(plan.options);
  for (const step of plan.steps) {
    const pending = world.take(step);
    if (pending !== undefined) await pending;
    check(ALWAYS, world);
    if (thorough) check(THOROUGHLY, world);
  }
  await world.end();
  check(ALWAYS, world);
  check(THOROUGHLY, world);
  check(WHEN_ALL_IS_OVER, world);
}

/** What breaks a plan, with as few steps as still break it: to be a test of its own. */
export async function shrunk(plan: Plan, failure: unknown): Promise<Error> {
  let { steps } = plan;
  let last = failure;
  for (let at = 0; at < steps.length; ) {
    const fewer = steps.filter((_, index) => index !== at);
    try {
      await live({ ...plan, steps: fewer });
      at += 1;
    } catch (error) {
      last = error;
      steps = fewer;
      at = 0;
    }
  }
  const lines = steps.map((step) => `  ${inspectStep(step)},`).join('\n');
  return new Error(`${(last as Error).message}\noptions: ${inspectStep(plan.options)}\nsteps: [\n${lines}\n]`, {
    cause: last,
  });
}

function inspectStep(step: object): string {
  const fields = Object.entries(step).map(
    ([key, value]) => `${key}: ${value === Infinity ? 'Infinity' : JSON.stringify(value)}`,
  );
  return `{ ${fields.join(', ')} }`;
}

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

class SceneOwner implements Owner {
  isGone = false;
  left(): void {}
}

/** What the test itself knows of one call, from the outside. */
class Seen {
  call!: Call;
  readonly parent: Seen | undefined;
  readonly handler: Latch<unknown> = latch<unknown>();
  readonly works: HeldWork[] = [];
  look: Look = 'no';
  starts = 0;
  startedAfterItsStop = false;
  opened = false;
  ran = false;
  gate: RunStep['gate'] = 'none';
  extended = false;
  timeoutMs = Infinity;
  endsAt = Infinity;
  ceilingAt = Infinity;
  pauses = 0;
  pausedAt = 0;
  stoppedAt = Number.NaN;
  released = false;
  /** The janitor has removed its row. */
  removed = false;
  answers = 0;
  answer: { error?: unknown } = {};
  left = 0;
  fired = 0;
  firedWith: unknown;

  constructor(parent?: Seen) {
    this.parent = parent;
  }

  get isLive(): boolean {
    return this.call.state === 'queued' || this.call.state === 'running';
  }

  get isInMutex(): boolean {
    const runs = this.starts > 0 && (!this.opened || this.works.some(({ fact }) => fact === 'unknown'));
    return this.gate === 'mutex' && runs && this.left === 0 && !this.released;
  }

  descendsFrom(other: Seen): boolean {
    for (let seen: Seen | undefined = this; seen !== undefined; seen = seen.parent) if (seen === other) return true;
    return false;
  }
}

class World {
  readonly clock = new VirtualClock();
  readonly calls: Seen[] = [];
  readonly engine: Engine;
  readonly limits: EngineOptions;
  badMove: string | undefined;
  closed = false;
  ladders: 'climbing' | 'done' = 'done';
  closing: StopReason | undefined;
  readonly waiting = new Map<string, { reason: StopReason; endsAt: number }>();
  readonly #byCall = new Map<Call, Seen>();
  readonly #owners = new Map<string, SceneOwner>();
  // Whoever leaves before the call is known here: it was refused as it arrived.
  readonly #early: Call[] = [];
  readonly #gates: Readonly<Record<RunStep['gate'], Gate | undefined>>;

  constructor(options: EngineOptions) {
    const noteMove = (call: Call, from: CallState, to: CallState): void => this.#moved(call, from, to);
    const noteLeft = (call: Call): void => this.#hasLeft(call);
    this.engine = new (class extends Engine {
      override moved(call: Call, from: CallState, to: CallState): void {
        super.moved(call, from, to);
        noteMove(call, from, to);
      }

      override left(call: Call): void {
        super.left(call);
        noteLeft(call);
      }
    })({
      clock: this.clock,
      cleanupMs: Infinity,
      recorded: { ttlMs: TTL_MS, maxPerScope: RECORDED_PER_SCOPE },
      ...options,
    });
    this.limits = options;
    this.#gates = {
      none: undefined,
      limit: this.engine.slots.limit('read', 2),
      mutex: this.engine.slots.mutex('db'),
    };
  }

  take(step: Step): undefined | Promise<void> {
    const { registry } = this.engine;
    switch (step.do) {
      case 'start':
        this.#run(this.#arrive(step.scope, step.id, step.look), step);
        return;
      case 'arrive':
        this.#arrive(step.scope, step.id, step.look);
        return;
      case 'nest':
        this.#nest(this.#which(step.which), step);
        return;
      case 'cancel':
        this.#cancel(step.scope, step.id);
        return;
      case 'record':
        this.#record(step.scope, step.id);
        return;
      case 'clear':
        assert.equal(registry.clear(step.scope, step.id), this.#take(step.scope, step.id) !== undefined);
        return;
      case 'disconnect':
        registry.stopScope(step.scope, disconnected());
        return;
      case 'owner gone':
        this.#ownerOf(step.scope).isGone = true;
        this.#owners.delete(step.scope);
        return;
      case 'janitor':
        this.#janitor();
        return;
      case 'close':
        this.#close();
        return;
      case 'time':
        this.clock.advance(step.n);
        return;
      case 'ticks':
        return ticks(step.n);
      case 'turn':
        return turn();
    }
    const seen = this.#which(step.which);
    if (seen === undefined) return;
    const { call } = seen;
    switch (step.do) {
      case 'run':
        if (!seen.ran && call.state !== 'failed') this.#run(seen, step);
        return;
      case 'settle':
        settle(seen, step.how);
        return;
      case 'discard':
        // Of a call that waits for its slot somebody wants the answer.
        if (!seen.ran) call.discard();
        return;
      case 'release':
        if (call.release()) seen.released = true;
        return;
      case 'progress':
        this.#progress(seen);
        return;
      case 'pause':
        if (call.state === 'running') {
          seen.pauses += 1;
          if (seen.pauses === 1) seen.pausedAt = this.clock.now();
        }
        call.pause();
        return;
      case 'resume':
        this.#resume(seen);
        return;
      case 'work':
        if (call.state !== 'running') return;
        return this.#adopt(seen);
      case 'work ends':
        for (const work of seen.works) work.finish();
    }
    return undefined;
  }

  /** Everything is let go: nothing may be left. */
  async end(): Promise<void> {
    for (const seen of this.calls) {
      settle(seen, 'returns');
      for (const work of seen.works) work.finish();
      if (!seen.ran) seen.call.discard();
    }
    await turn();
    for (let round = 0; round < 20 && this.engine.stats().inFlight > 0; round += 1) {
      this.clock.advance(GRACE_MS + 1_000);
      await turn();
    }
  }

  #hasLeft(call: Call): void {
    const seen = this.#byCall.get(call);
    if (seen === undefined) this.#early.push(call);
    else seen.left += 1;
  }

  #which(n: number): Seen | undefined {
    return this.calls.length === 0 ? undefined : at(this.calls, n);
  }

  #ownerOf(scope: string): SceneOwner {
    let owner = this.#owners.get(scope);
    if (owner === undefined) {
      owner = new SceneOwner();
      this.#owners.set(scope, owner);
    }
    return owner;
  }

  #arrive(scope: string, id: string | number, look: Look): Seen {
    const waiting = this.#take(scope, id);
    const owner = this.#ownerOf(scope);
    const call = this.engine.begin({ scope, id, method: 'tools/call', name: 'tool', owner });
    const seen = this.#know(new Seen(), call);
    assert.equal(call.reason, waiting ?? this.closing, 'a recorded cancel is for the next call with its key');
    assert.equal(call.state, call.reason === undefined ? 'queued' : 'refused');
    seen.look = look;
    const fired = (reason: unknown): void => {
      seen.fired += 1;
      seen.firedWith = reason;
    };
    if (look === 'signal') {
      const { signal } = call;
      if (signal.aborted) fired(signal.reason);
      signal.addEventListener('abort', () => fired(signal.reason));
    } else if (look === 'onStop') call.onStop(fired);
    return seen;
  }

  #know(seen: Seen, call: Call): Seen {
    seen.call = call;
    this.#byCall.set(call, seen);
    this.calls.push(seen);
    if (this.#early.includes(call)) seen.left += 1;
    return seen;
  }

  #run(seen: Seen, { timeoutMs, gate, extended }: RunStep): void {
    seen.ran = true;
    seen.gate = gate;
    seen.timeoutMs = timeoutMs;
    seen.extended = extended;
    const handler = (): Promise<unknown> => {
      seen.starts += 1;
      seen.startedAfterItsStop = seen.call.reason !== undefined;
      seen.endsAt = this.clock.now() + timeoutMs;
      seen.ceilingAt = this.clock.now() + timeoutMs + EXTENSION_MS;
      return seen.handler.promise;
    };
    seen.call
      .run(handler, {
        timeoutMs,
        gate: this.#gates[gate],
        ...(extended && { resetTimeoutOnProgress: true, maxTotalTimeoutMs: timeoutMs + EXTENSION_MS }),
      })
      .then(
        () => {
          seen.answers += 1;
        },
        (error: unknown) => {
          seen.answers += 1;
          seen.answer = { error };
        },
      );
  }

  #nest(parent: Seen | undefined, step: RunStep & { runs: boolean }): void {
    if (parent === undefined) return;
    const { state, reason } = parent.call;
    let call: Call;
    try {
      call = this.engine.nest(parent.call, { method: 'tools/call', name: 'nested' });
    } catch (error) {
      assert.notEqual(state, 'running');
      if (reason !== undefined) assert.equal(error, reason);
      return;
    }
    assert.equal(state, 'running');
    // It has an owner of its own: its caller.
    const seen = this.#know(new Seen(parent), call);
    if (step.runs) this.#run(seen, step);
  }

  #cancel(scope: string, id: string | number): void {
    const named = this.#named(scope, id);
    const ambiguous = named.length > 1 && isShared(scope);
    const reason = cancelled('client');
    assert.equal(this.engine.registry.isInFlight(scope, id), named.length > 0);
    const waiting = this.engine.registry.recorded;
    const before = this.calls.filter(({ call }) => call.reason !== undefined);
    const result = this.engine.registry.cancel(scope, id, reason);
    assert.equal(this.engine.registry.recorded, waiting, 'a cancel over the wire is never recorded');
    if (named.length === 0 || ambiguous) {
      assert.deepEqual(result, { ignored: ambiguous ? 'ambiguous' : 'unknown' });
      this.#stoppedExactly([], before, reason);
    } else {
      assert.deepEqual(result, { stopped: named.length });
      this.#stoppedExactly(named, before, reason);
    }
  }

  #record(scope: string, id: string | number): void {
    const named = this.#named(scope, id);
    const reason = cancelled('library');
    const before = this.calls.filter(({ call }) => call.reason !== undefined);
    const now = this.clock.now();
    const result = this.engine.registry.record(scope, id, reason);
    this.#stoppedExactly(named, before, reason);
    if (named.length > 0) {
      assert.deepEqual(result, { stopped: named.length });
      return;
    }
    const others = [...this.waiting].filter(
      ([key, { endsAt }]) => key.startsWith(`${scope} `) && key !== keyOf(scope, id) && endsAt > now,
    );
    if (others.length >= RECORDED_PER_SCOPE) {
      assert.deepEqual(result, { refused: 'cancellation_limit_reached' });
      return;
    }
    assert.deepEqual(result, { recorded: true });
    this.waiting.set(keyOf(scope, id), { reason, endsAt: now + TTL_MS });
  }

  #take(scope: string, id: string | number): StopReason | undefined {
    const waiting = this.waiting.get(keyOf(scope, id));
    this.waiting.delete(keyOf(scope, id));
    return waiting !== undefined && waiting.endsAt > this.clock.now() ? waiting.reason : undefined;
  }

  #named(scope: string, id: string | number): Seen[] {
    return this.calls.filter(
      (seen) => seen.call.scope === scope && seen.call.id === id && seen.isLive && !seen.removed,
    );
  }

  /** Those that were named, and what they had called; nobody else. */
  #stoppedExactly(named: readonly Seen[], before: readonly Seen[], reason: StopReason): void {
    for (const seen of this.calls) {
      if (before.includes(seen)) continue;
      const meant = named.some((other) => seen.descendsFrom(other));
      if (meant !== (seen.call.reason !== undefined) && !(meant && !seen.isLive)) {
        assert.fail(`${meant ? 'not stopped' : 'stopped'}: ${seen.call.scope} ${JSON.stringify(seen.call.id)}`);
      }
      if (meant && seen.call.reason !== undefined) assert.equal(seen.call.reason, reason);
    }
  }

  #janitor(): void {
    const gone = this.calls.filter(({ call, left, removed }) => call.owner?.isGone === true && left === 0 && !removed);
    const live = gone.filter((seen) => seen.isLive);
    this.engine.cleanup();
    for (const seen of gone) seen.removed = true;
    for (const { call } of live) assert.equal(call.reason?.kind, 'disconnected');
    for (const [key, { endsAt }] of this.waiting) if (endsAt <= this.clock.now()) this.waiting.delete(key);
    assert.equal(this.engine.stats().recorded, this.waiting.size);
  }

  #close(): void {
    this.closing ??= shutdown();
    this.ladders = 'climbing';
    void this.engine.close(this.closing).then(() => {
      this.ladders = 'done';
    });
  }

  #adopt(seen: Seen): undefined {
    const work = new HeldWork();
    seen.works.push(work);
    seen.call.adopt(work);
  }

  #progress(seen: Seen): void {
    seen.call.progressed();
    if (seen.call.state !== 'running' || !seen.extended) return;
    const now = seen.pauses > 0 ? seen.pausedAt : this.clock.now();
    seen.endsAt = Math.min(Math.max(seen.endsAt, now + seen.timeoutMs), seen.ceilingAt);
  }

  #resume(seen: Seen): void {
    seen.call.resume();
    if (seen.call.state !== 'running' || seen.pauses === 0) return;
    seen.pauses -= 1;
    if (seen.pauses > 0) return;
    seen.endsAt += this.clock.now() - seen.pausedAt;
    seen.ceilingAt += this.clock.now() - seen.pausedAt;
  }

  #moved(call: Call, from: CallState, to: CallState): void {
    if (!ALLOWED[from].includes(to)) this.badMove = `${from} -> ${to}`;
    const seen = this.#byCall.get(call);
    if (to === 'stopping' && seen !== undefined) seen.stoppedAt = this.clock.now();
  }
}

function keyOf(scope: string, id: string | number): string {
  return `${scope} ${JSON.stringify(id)}`;
}

function settle(seen: Seen, how: (typeof HOW)[number]): void {
  // A handler that has not been started has nothing to settle.
  seen.opened = true;
  if (how === 'returns') seen.handler.open('value');
  else if (how === 'throws null') seen.handler.fail(null);
  else if (how === 'throws its reason') seen.handler.fail(seen.call.reason);
  else seen.handler.fail(new Error('mine'));
  seen.handler.promise.catch(() => {});
}

async function ticks(n: number): Promise<void> {
  for (let tick = 0; tick < n; tick += 1) await undefined;
}

type Invariant = (world: World) => void;
type Invariants = Readonly<Record<string, Invariant>>;

function check(invariants: Invariants, world: World): void {
  for (const name in invariants) {
    try {
      invariants[name]?.(world);
    } catch (error) {
      throw new Error(`${name}: ${(error as Error).message}`, { cause: error });
    }
  }
}

function say(holds: boolean, words: () => string): void {
  if (!holds) assert.fail(words());
}

const ALWAYS: Invariants = {
  'a call is answered at most once, and by whichever came first': ({ calls }) => {
    for (const { call, answers, answer } of calls) {
      say(answers <= 1, () => `${answers} answers`);
      if (answers === 0) continue;
      if (call.reason !== undefined) say(answer.error === call.reason, () => `answered with ${answer.error}`);
      else say(call.state === 'completed' || call.state === 'failed', () => call.state);
    }
  },
  'a handler never starts after its stop, and never twice': ({ calls }) => {
    for (const { starts, startedAfterItsStop } of calls) {
      say(!startedAfterItsStop, () => 'started after its stop');
      say(starts <= 1, () => `${starts} starts`);
    }
  },
  'the counts are what a recount gives': ({ calls, engine, waiting, clock }) => {
    let [queued, inLine, running, abandoned, lingering, inFlight, rows] = [0, 0, 0, 0, 0, 0, 0];
    for (const seen of calls) {
      const { state } = seen.call;
      const there = seen.left === 0;
      if (state === 'queued') queued += 1;
      if (state === 'queued' && seen.ran) inLine += 1;
      if (state === 'running') running += 1;
      if (there && (state === 'abandoned' || seen.released)) abandoned += 1;
      // Answered, with a nested call left behind: abandoned as soon as the ladder has run out.
      else if (there && (state === 'completed' || state === 'failed')) lingering += 1;
      if (there) inFlight += 1;
      if (there && !seen.removed) rows += 1;
    }
    const stats = engine.stats();
    say(stats.queued === queued, () => `queued: ${stats.queued}, not ${queued}`);
    say(stats.running === running, () => `running: ${stats.running}, not ${running}`);
    say(
      stats.abandoned >= abandoned && stats.abandoned <= abandoned + lingering,
      () => `abandoned: ${stats.abandoned}, not ${abandoned} to ${abandoned + lingering}`,
    );
    say(stats.inFlight === inFlight, () => `inFlight: ${stats.inFlight}, not ${inFlight}`);
    say(engine.registry.size === rows, () => `rows: ${engine.registry.size}, not ${rows}`);
    say(engine.slots.waiting === inLine, () => `waiting: ${engine.slots.waiting}, not ${inLine}`);
    if (waiting.size === 0) return;
    let recorded = 0;
    for (const { endsAt } of waiting.values()) if (endsAt > clock.now()) recorded += 1;
    say(stats.recorded >= recorded, () => `recorded: ${stats.recorded}, less than ${recorded}`);
  },
  'a mutex never has two holders whose handlers run, but for a call and what it called': ({ calls }) => {
    let holder: Seen | undefined;
    for (const seen of calls) {
      if (!seen.isInMutex) continue;
      if (holder !== undefined) say(seen.descendsFrom(holder), () => 'two holders');
      holder = seen;
    }
  },
  'no more run than the limit and those that were answered': ({ calls, engine, limits }) => {
    let running = 0;
    for (const seen of calls) {
      const { state } = seen.call;
      if (seen.parent === undefined && !seen.released && (state === 'running' || state === 'stopping')) running += 1;
    }
    const { maxConcurrency = Infinity } = limits;
    say(running <= maxConcurrency, () => `${running} run`);
    say(engine.slots.running <= maxConcurrency, () => `${engine.slots.running} places`);
  },
  'a nested call never outlives its caller, and has its stop and its reason': ({ calls }) => {
    for (const seen of calls) {
      const { parent, call } = seen;
      if (parent === undefined) continue;
      if (parent.left > 0) say(seen.left > 0, () => 'it is there, its caller is not');
      if (!parent.isLive) say(!seen.isLive, () => 'its caller was stopped or has ended, and it was not stopped');
      if (seen.left === 0)
        say(parent.call.workFact === 'unknown', () => `work: ${parent.call.workFact} (${call.state})`);
    }
  },
  'a state moves only along its arrows': ({ badMove }) => say(badMove === undefined, () => `${badMove}`),
  'a deadline is on time: not early, not late, extended by progress up to its ceiling, and not while paused': ({
    calls,
    clock,
  }) => {
    for (const { call, parent, endsAt, ceilingAt, pauses, pausedAt, stoppedAt } of calls) {
      if (call.state === 'running') {
        const left = endsAt - (pauses > 0 ? pausedAt : clock.now());
        say(left > 0, () => `late by ${-left} ms`);
        say(call.remaining() === left, () => `remaining ${call.remaining()}, not ${left}`);
        say(endsAt <= ceilingAt, () => 'past its ceiling');
      } else if (call.reason?.kind === 'deadline' && call.reason !== parent?.call.reason) {
        say(stoppedAt === endsAt, () => `at ${stoppedAt}, not ${endsAt}`);
      }
    }
  },
  'a timer is held by a ladder, by the queue, or, one for all, by running calls with a deadline': ({
    calls,
    clock,
    engine,
  }) => {
    let [deadlines, most] = [0, engine.slots.waiting > 0 ? 1 : 0];
    for (const seen of calls) {
      const { state } = seen.call;
      if (state === 'running' && seen.timeoutMs !== Infinity && seen.pauses === 0) deadlines = 1;
      if (seen.left === 0 && seen.starts > 0 && state !== 'running') most += 1;
    }
    const { pending, background } = clock;
    say(
      pending >= deadlines && pending <= deadlines + most,
      () => `${pending}, not ${deadlines} to ${deadlines + most}`,
    );
    say(background <= 1, () => `${background} that keep no process alive`);
  },
  'the signal fires at the stop, once, with the reason, and not otherwise': ({ calls }) => {
    for (const { call, look, fired, firedWith } of calls) {
      if (look === 'no') continue;
      say(fired === (call.reason === undefined ? 0 : 1), () => `fired ${fired} times`);
      if (fired > 0) say(firedWith === call.reason, () => 'not with its reason');
    }
  },
};

const THOROUGHLY: Invariants = {
  'a call leaves the registry at most once, and the registry holds exactly those that have not': ({
    calls,
    engine,
  }) => {
    for (const { left } of calls) say(left <= 1, () => `left ${left} times`);
    const held = new Set(engine.registry.calls());
    for (const seen of calls) {
      say(
        held.has(seen.call) === (seen.left === 0 && !seen.removed),
        () => `${seen.call.state}: ${held.has(seen.call)}`,
      );
    }
  },
  'a row can be cancelled until its call is answered or stopped, and no longer': ({ calls, engine }) => {
    for (const scope of SCOPES) {
      for (const id of IDS) {
        const open = calls.some(
          (seen) => seen.call.scope === scope && seen.call.id === id && seen.isLive && !seen.removed,
        );
        assert.equal(engine.registry.isInFlight(scope, id), open);
      }
    }
  },
};

const WHEN_ALL_IS_OVER: Invariants = {
  'a call that was run is answered, exactly once': ({ calls }) => {
    for (const { ran, answers } of calls) if (ran) assert.equal(answers, 1);
  },
  'a call has left the registry exactly once': ({ calls }) => {
    for (const seen of calls) say(seen.left > 0, () => seen.call.state);
  },
  'its listeners and timers are gone': ({ calls, clock }) => {
    assert.equal(clock.pending, 0);
    for (const { call, look } of calls) {
      if (look === 'signal') assert.equal(getEventListeners(call.signal, 'abort').length, 1, 'only the test listens');
    }
  },
  'a stopped call ends as stopped or refused, any other as completed or failed': ({ calls }) => {
    for (const { call } of calls) {
      assert.ok((call.reason ? ['stopped', 'refused'] : ['completed', 'failed']).includes(call.state), call.state);
    }
  },
  'the ladders that a shutdown waits for are done': ({ ladders }) => assert.equal(ladders, 'done'),
  'the engine is empty': ({ engine, clock }) => {
    const { slots, registry } = engine;
    clock.advance(TTL_MS);
    engine.cleanup();
    const { queued, running, abandoned, inFlight, recorded } = engine.stats();
    assert.deepEqual([queued, running, abandoned, inFlight, recorded], [0, 0, 0, 0, 0]);
    assert.deepEqual([slots.running, slots.waiting, slots.abandoned, slots.scopes], [0, 0, 0, 0]);
    assert.deepEqual([registry.size, registry.calls().length, clock.background], [0, 0, 0]);
  },
};
