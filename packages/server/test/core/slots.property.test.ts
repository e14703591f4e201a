/**
 * The slots against a naive reference that keeps one list of calls and works everything else out by looking through it:
 * who holds, who could start, whose turn it is. Whatever comes, in whatever order, also from within what a user is told,
 * both tell the same users the same, in the same order, and count the same.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Gate, type Place, type SlotLimits, Slots } from '../../src/core/slots/slots.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const RUNS = 1_000;
const GATES = { none: Infinity, single: 1, double: 2, mutex: 1 } as const;
const ACTS = ['withdraw', 'leave', 'abandon', 'release'] as const;

type GateName = keyof typeof GATES;
type Act = (typeof ACTS)[number];
type Limits = { [Name in keyof SlotLimits]-?: number };

/** What a user does from within what it is told. */
type Reaction =
  | { do: 'nothing' }
  | { do: 'act'; act: Act }
  | { do: 'act on later'; by: number; act: Act }
  | { do: 'ask'; gate: GateName };

interface Ask {
  readonly scope: string;
  readonly gate: GateName;
  readonly parent: number | undefined;
  readonly reaction: Reaction;
}

type Step =
  | ({ do: 'ask' } & Ask)
  | { do: 'act'; which: number; act: Act }
  | { do: 'act on waiting'; which: number; act: Act }
  | { do: 'time'; ms: number };

const which = fc.nat(30);
const act = fc.constantFrom<Act>('withdraw', 'leave', 'leave', 'abandon', 'abandon', 'abandon', 'release');
const gate = fc.constantFrom<GateName>('none', 'none', 'single', 'double', 'mutex', 'mutex');
const reaction: fc.Arbitrary<Reaction> = fc.oneof(
  { weight: 12, arbitrary: fc.constant({ do: 'nothing' as const }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('act' as const), act }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('act on later' as const), by: fc.integer({ min: 1, max: 3 }), act }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('ask' as const), gate }) },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('ask' as const),
      scope: fc.constantFrom('a', 'a', 'b', 'c'),
      gate,
      parent: fc.option(which, { nil: undefined, freq: 2 }),
      reaction,
    }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('act' as const), which, act }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('act on waiting' as const), which, act }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('time' as const), ms: fc.constantFrom(1, 4, 10, 30) }) },
);
const limits: fc.Arbitrary<Limits> = fc.record({
  maxConcurrency: fc.constantFrom(1, 2, 3, 4, Infinity),
  maxConcurrencyPerScope: fc.constantFrom(1, 2, Infinity, Infinity),
  maxQueue: fc.constantFrom(0, 2, 4, 1_000, 1_000, 1_000, 1_000, 1_000),
  queueTimeoutMs: fc.constantFrom(0, 10, 30, 30, Infinity, Infinity, Infinity),
  maxAbandoned: fc.constantFrom(1, 1, 2, 3, 100, 100, 100),
});

test('the slots do what a naive reference does, whatever comes in whatever order', () => {
  fc.assert(
    fc.property(limits, fc.array(step, { maxLength: 80, size: 'max' }), (limits, steps) => {
      const real = new Real(limits);
      const naive = new Naive(limits);
      for (const step of [...steps, 'everybody leaves' as const]) {
        real.take(step, naive.waiting());
        naive.take(step);
        expect(real.told).toEqual(naive.told);
        expect(real.counts()).toEqual(naive.counts());
        expect(naive.waiting().filter((call) => naive.canStart(call))).toEqual([]);
      }
      expect(real.counts()).toEqual({ running: 0, waiting: 0, abandoned: 0, scopes: 0, timers: 0, gates: [0, 0, 0] });
    }),
    { numRuns: RUNS },
  );
});

interface Counts {
  running: number;
  waiting: number;
  abandoned: number;
  scopes: number;
  timers: number;
  gates: number[];
}

/** The slots themselves, and users that do as they are bid. */
class Real {
  readonly told: string[] = [];
  readonly #clock = new VirtualClock();
  readonly #slots: Slots;
  readonly #gates: Record<GateName, Gate | undefined>;
  readonly #places: (Place | undefined)[] = [];

  constructor(limits: Limits) {
    this.#slots = new Slots(this.#clock, limits);
    this.#gates = {
      none: undefined,
      single: this.#slots.limit('single', GATES.single),
      double: this.#slots.limit('double', GATES.double),
      mutex: this.#slots.mutex('mutex'),
    };
  }

  take(step: Step | 'everybody leaves', waiting: readonly Call[]): void {
    if (step === 'everybody leaves') for (let i = 0; i < this.#places.length; i += 1) this.#places[i]?.leave();
    else if (step.do === 'ask') this.#ask(step);
    else if (step.do === 'time') this.#clock.advance(step.ms);
    else if (step.do === 'act') this.#act(step.which, step.act);
    else this.#act(waiting[step.which % waiting.length]?.index, step.act);
  }

  counts(): Counts {
    const { running, waiting, abandoned, scopes } = this.#slots;
    const { single, double, mutex } = this.#gates;
    const gates = [single, double, mutex].map((gate) => gate?.running ?? NaN);
    return { running, waiting, abandoned, scopes, timers: this.#clock.pending, gates };
  }

  #ask({ scope, gate, parent, reaction }: Ask): void {
    const index = this.#places.push(undefined) - 1;
    const told = (what: string): void => {
      this.told.push(`${index} ${what}`);
      if (reaction.do === 'act') this.#act(index, reaction.act);
      if (reaction.do === 'act on later') this.#act(index + reaction.by, reaction.act);
      if (reaction.do === 'ask')
        this.#ask({ scope, gate: reaction.gate, parent: undefined, reaction: { do: 'nothing' } });
    };
    const user = {
      scope,
      what: `call ${index}`,
      admitted: (place: Place): void => {
        this.#places[index] = place;
        told('admitted');
      },
      refused: (): void => told('refused'),
    };
    const above = parent === undefined ? undefined : this.#places[parent % this.#places.length];
    this.#places[index] = this.#slots.request(user, this.#gates[gate], above);
  }

  #act(which: number | undefined, act: Act): void {
    if (which !== undefined) this.#places[which % this.#places.length]?.[act]();
  }
}

interface Call extends Ask {
  readonly index: number;
  readonly above: Call | undefined;
  readonly since: number;
  /** Its user has its place in hand. */
  isKnown: boolean;
  state: 'waiting' | 'running' | 'abandoned' | 'over';
  hasSlot: boolean;
  isInGate: boolean;
  lender: Call | undefined;
  abandonedAs: number;
  news: 'admitted' | 'refused' | undefined;
}

/** The reference: slow, and with nothing to go stale but the turns, which are history. */
class Naive {
  readonly told: string[] = [];
  readonly #limits: Limits;
  readonly #calls: Call[] = [];
  // When each was last served or, not served yet, began to wait.
  readonly #scopeTurns = new Map<string, number>();
  readonly #lineTurns = new Map<string, number>();
  #turn = 0;
  #now = 0;
  #abandonments = 0;
  #news: Call[] = [];
  #isTelling = false;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  take(step: Step | 'everybody leaves'): void {
    if (step === 'everybody leaves') {
      for (let i = 0; i < this.#calls.length; i += 1) this.#act(i, 'leave');
    } else if (step.do === 'ask') this.#ask(step);
    else if (step.do === 'act') this.#act(step.which, step.act);
    else if (step.do === 'act on waiting') {
      const waiting = this.waiting();
      this.#act(waiting[step.which % waiting.length]?.index, step.act);
    } else for (let ms = 0; ms < step.ms; ms += 1) this.#tick();
  }

  waiting(): Call[] {
    return this.#calls.filter(({ state }) => state === 'waiting');
  }

  counts(): Counts {
    const waiting = this.waiting();
    return {
      running: this.#withSlot().length,
      waiting: waiting.length,
      abandoned: this.#abandoned().length,
      scopes: new Set([...waiting, ...this.#withSlot()].map(({ scope }) => scope)).size,
      timers: waiting.length > 0 && this.#limits.queueTimeoutMs !== Infinity ? 1 : 0,
      gates: (['single', 'double', 'mutex'] as const).map((gate) => this.#taken(gate)),
    };
  }

  canStart(call: Call): boolean {
    if (call.gate !== 'none' && !this.#lenderFor(call) && this.#taken(call.gate) >= GATES[call.gate]) return false;
    return call.above !== undefined || this.#hasRoom(call.scope);
  }

  #ask(ask: Ask): void {
    const index = this.#calls.length;
    const named = ask.parent === undefined ? undefined : this.#calls[ask.parent % (index + 1)];
    const above = named?.isKnown ? named : undefined;
    const fresh = { state: 'waiting', hasSlot: false, isInGate: false, lender: undefined, isKnown: false } as const;
    const call: Call = { ...ask, ...fresh, index, above, since: this.#now, abandonedAs: 0, news: undefined };
    const others = this.waiting();
    // Not a waiting one until it is decided that it waits.
    call.state = 'over';
    this.#calls.push(call);
    if (this.#abandoned().length >= this.#limits.maxAbandoned) this.#tell(call, 'refused');
    else if (this.canStart(call)) {
      this.#start(call);
      this.#tell(call, 'admitted');
    } else if (this.#limits.queueTimeoutMs === 0) this.#tell(call, 'refused');
    else if (others.length < this.#limits.maxQueue || this.#pushOutFor(call, others)) {
      this.#turn += 1;
      const before = others.filter(({ state, above }) => state === 'waiting' && above === undefined);
      if (!before.some(({ scope }) => scope === call.scope)) this.#scopeTurns.set(call.scope, this.#turn);
      if (!before.some((other) => lineOf(other) === lineOf(call))) this.#lineTurns.set(lineOf(call), this.#turn);
      call.state = 'waiting';
      this.#tellAll();
    } else this.#tell(call, 'refused');
    call.isKnown = true;
  }

  #pushOutFor(call: Call, waiting: Call[]): boolean {
    const waitingOf = (scope: string): number => waiting.filter((other) => other.scope === scope).length;
    const most = Math.max(0, ...waiting.map(({ scope }) => waitingOf(scope)));
    if (waitingOf(call.scope) >= most) return false;
    const newest = waiting.findLast(({ scope }) => waitingOf(scope) === most);
    if (newest === undefined) return false;
    this.#dismiss(newest);
    return true;
  }

  #act(which: number | undefined, act: Act): void {
    const call = which === undefined ? undefined : this.#calls[which % this.#calls.length];
    if (!call?.isKnown) return;
    const isUntold = call.news !== undefined;
    if (act === 'leave' || (act === 'withdraw' && (call.state === 'waiting' || isUntold))) this.#leave(call);
    if (act === 'abandon' && call.state === 'running' && !isUntold) {
      this.#abandon(call);
      this.#settle();
    }
    if (act === 'release' && (call.hasSlot || call.isInGate) && !isUntold) {
      if (call.state === 'running') {
        call.state = 'abandoned';
        this.#abandonments += 1;
      }
      this.#passOn(call, true);
      this.#settle();
    }
  }

  #leave(call: Call): void {
    const { state } = call;
    call.news = undefined;
    call.state = 'over';
    if (state !== 'running' && state !== 'abandoned') return;
    this.#passOn(call, true);
    this.#passOnKept();
    this.#settle();
  }

  #abandon(call: Call): void {
    call.state = 'abandoned';
    this.#abandonments += 1;
    call.abandonedAs = this.#abandonments;
    // By the letter of the rule, and not by way of those who kept theirs.
    if (this.#abandoned().length <= this.#limits.maxAbandoned) this.#passOn(call, false);
  }

  #passOnKept(): void {
    for (;;) {
      const kept = this.#abandoned().filter(holdsInLimit);
      const next = kept.sort((one, other) => one.abandonedAs - other.abandonedAs)[0];
      if (next === undefined || this.#abandoned().length - kept.length >= this.#limits.maxAbandoned) return;
      this.#passOn(next, false);
    }
  }

  #passOn(call: Call, mutexToo: boolean): void {
    call.hasSlot = false;
    if (!call.isInGate || (call.gate === 'mutex' && !mutexToo)) return;
    for (const other of this.#calls) if (other.lender === call) other.lender = call.lender;
    call.isInGate = false;
    call.lender = undefined;
    for (const nested of this.waiting()) if (nested.above !== undefined && this.canStart(nested)) this.#admit(nested);
  }

  #settle(): void {
    for (;;) {
      const able = this.waiting().filter((call) => call.above === undefined && this.canStart(call));
      const heads = Object.keys(GATES).flatMap((gate) => {
        const atGate = able.filter((call) => call.gate === gate);
        return atGate.sort(by((call) => this.#lineTurns.get(lineOf(call)))).slice(0, 1);
      });
      const next = heads.sort(by(({ index }) => index)).sort(by(({ scope }) => this.#scopeTurns.get(scope)))[0];
      if (next === undefined) break;
      this.#admit(next);
      this.#turn += 1;
      this.#scopeTurns.set(next.scope, this.#turn);
      this.#lineTurns.set(lineOf(next), this.#turn);
    }
    this.#tellAll();
  }

  #tick(): void {
    this.#now += 1;
    for (const call of this.waiting()) if (call.since + this.#limits.queueTimeoutMs <= this.#now) this.#dismiss(call);
    this.#tellAll();
  }

  #admit(call: Call): void {
    this.#start(call);
    call.news = 'admitted';
    this.#news.push(call);
  }

  #dismiss(call: Call): void {
    call.state = 'over';
    call.news = 'refused';
    this.#news.push(call);
  }

  #start(call: Call): void {
    call.state = 'running';
    call.hasSlot = call.above === undefined;
    if (call.gate === 'none') return;
    call.lender = this.#lenderFor(call);
    call.isInGate = true;
  }

  #tell(call: Call, what: 'admitted' | 'refused'): void {
    this.told.push(`${call.index} ${what}`);
    if (what === 'admitted') call.isKnown = true;
    const { index, scope, reaction } = call;
    if (reaction.do === 'act') this.#act(index, reaction.act);
    if (reaction.do === 'act on later') this.#act(index + reaction.by, reaction.act);
    if (reaction.do === 'ask')
      this.#ask({ scope, gate: reaction.gate, parent: undefined, reaction: { do: 'nothing' } });
  }

  #tellAll(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    for (let call = this.#news.shift(); call !== undefined; call = this.#news.shift()) {
      const { news } = call;
      call.news = undefined;
      if (news !== undefined) this.#tell(call, news);
    }
    this.#isTelling = false;
  }

  #lenderFor(call: Call): Call | undefined {
    let above = call.above;
    while (above !== undefined && !(above.isInGate && above.gate === call.gate)) above = above.above;
    return above !== undefined && this.#calls.some(({ lender }) => lender === above) ? undefined : above;
  }

  #hasRoom(scope: string): boolean {
    return this.#withSlot().length < this.#limits.maxConcurrency && this.#scopeHasRoom(scope);
  }

  #scopeHasRoom(scope: string): boolean {
    return this.#withSlot().filter((call) => call.scope === scope).length < this.#limits.maxConcurrencyPerScope;
  }

  #withSlot(): Call[] {
    return this.#calls.filter(({ hasSlot }) => hasSlot);
  }

  #abandoned(): Call[] {
    return this.#calls.filter(({ state }) => state === 'abandoned');
  }

  #taken(gate: GateName): number {
    return this.#calls.filter((call) => call.isInGate && call.gate === gate && call.lender === undefined).length;
  }
}

/** Keeps the order of arrival among equals, as sorting is stable. */
function by(turnOf: (call: Call) => number | undefined): (one: Call, other: Call) => number {
  return (one, other) => (turnOf(one) ?? NaN) - (turnOf(other) ?? NaN);
}

/** Nested calls wait outside of all lines. */
function lineOf({ scope, gate, above, index }: Call): string {
  return above === undefined ? `${scope} ${gate}` : `nested ${index}`;
}

function holdsInLimit({ hasSlot, isInGate, gate }: Call): boolean {
  return hasSlot || (isInGate && gate !== 'mutex');
}
