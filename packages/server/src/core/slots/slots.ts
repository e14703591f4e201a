/**
 * Who may run now: limits of the server, of each scope and of each gate, and what becomes of those that must wait.
 *
 * Promises that nobody waits who could start, that a call gets all that it needs at once or nothing, and that waiting
 * is bounded in number and in time. Does not stop anything: a handler that goes on after its answer keeps a mutex shut.
 */

import { checkCount } from '../checks.ts';
import { type Clock, LONGEST_TIMER_MS, type TimerHandle } from '../clock.ts';
import { Allowance } from './allowance.ts';
import { Gate } from './gate.ts';
import { type CheckedLimits, checkLimits, type SlotLimits } from './limits.ts';
import { News } from './news.ts';
import { liveParent, Place, type PlaceHost, type SlotUser } from './place.ts';
import { Queue } from './queue.ts';
import { Scopes } from './scopes.ts';

export type { Gate } from './gate.ts';
export type { SlotLimits } from './limits.ts';
export type { Place, SlotUser } from './place.ts';

export class Slots {
  readonly #clock: Clock;
  readonly #limits: CheckedLimits;
  readonly #limitGates = new Map<string, Gate>();
  readonly #mutexes = new Map<string, Gate>();
  readonly #host: PlaceHost;
  // Invariant: nobody in it could start, whenever a user is told anything.
  readonly #queue = new Queue();
  readonly #scopes: Scopes;
  readonly #allowance: Allowance;
  readonly #news = new News();
  #running = 0;
  // Invariant: undefined while nobody waits.
  #expiry: TimerHandle | undefined;

  /** @throws RangeError for a limit that is none */
  constructor(clock: Clock, limits: SlotLimits = {}) {
    this.#clock = clock;
    this.#limits = checkLimits(limits);
    this.#scopes = new Scopes(this.#limits.maxConcurrencyPerScope);
    this.#allowance = new Allowance(this.#limits.maxAbandoned);
    this.#host = {
      withdraw: (place) => this.#withdraw(place),
      leave: (place) => this.#leave(place),
      abandon: (place) => this.#abandon(place),
      release: (place) => this.#release(place),
    };
  }

  /** Calls that wait. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** Places of `maxConcurrency` that are taken; nested calls need none. */
  get running(): number {
    return this.#running;
  }

  /** Calls that were answered and have not left. */
  get abandoned(): number {
    return this.#allowance.abandoned;
  }

  /** Scopes that are remembered: somebody of them waits or has a place. */
  get scopes(): number {
    return this.#scopes.size;
  }

  /** So many are abandoned that new calls are refused. */
  get isOverloaded(): boolean {
    return this.#allowance.isUsedUp;
  }

  /** Nothing limits a call that has no gate and no caller in a gate: it needs no place, and only counts when abandoned. */
  get isUnlimited(): boolean {
    return this.#limits.maxConcurrency === Infinity && this.#limits.maxConcurrencyPerScope === Infinity;
  }

  /** A call without a place was answered, and runs on. */
  abandonUnplaced(): void {
    this.#allowance.count();
  }

  /** It has ended after all. */
  endUnplaced(): void {
    this.#allowance.discount();
    this.#passOnKept();
    this.#serve();
  }

  /** Why a new call is refused while `isOverloaded`. */
  overloadOf(user: SlotUser): string {
    return refusal(user, this.#allowance.whyUsedUp());
  }

  /**
   * A limit on calls that run at once, such as one tool's; the same for the same name.
   *
   * @throws RangeError when it is there with another number
   */
  limit(name: string, max: number): Gate {
    const where = `the limit ${JSON.stringify(name)}`;
    const gate = this.#limitGates.get(name) ?? new Gate(name, checkCount(max, where, 1), false);
    if (gate.max !== max) {
      throw new RangeError(`estop: ${where} cannot be both ${gate.max} and ${String(max)}: give it one number`);
    }
    this.#limitGates.set(name, gate);
    return gate;
  }

  /** A mutex; the same for the same name. */
  mutex(name: string): Gate {
    const gate = this.#mutexes.get(name) ?? new Gate(name, 1, true);
    this.#mutexes.set(name, gate);
    return gate;
  }

  /**
   * Asks for all that a call needs. The user is told within this, unless the call has to wait.
   *
   * @param gate   what it needs besides a place in the server's and its scope's limits
   * @param parent the place of the call that makes this one: it runs on its root's places, needs only the gate, and
   *               there may use an ancestor's place, one descendant at a time
   */
  request(user: SlotUser, gate?: Gate, parent?: Place): Place {
    const place = new Place(this.#host, user, this.#scopes.get(user.scope), gate, parent);
    // So that in a chain in which each call makes the next and is over, none keeps the ones before.
    const live = liveParent(place);
    if (live !== undefined) liveParent(live);
    const { maxQueue, queueTimeoutMs } = this.#limits;
    if (this.isOverloaded) this.#refuse(place, this.#allowance.whyUsedUp());
    else if (this.#canStart(place)) {
      this.#start(place);
      user.admitted(place);
    } else if (queueTimeoutMs === 0) this.#refuse(place, `it may not wait, and ${this.#obstacle(place)}`);
    else if (this.#queue.size < maxQueue || this.#pushOutFor(place)) {
      this.#queue.add(place, this.#clock.now());
      if (this.#expiry === undefined) this.#arm();
      this.#news.tellAll();
    } else this.#refuse(place, `the queue holds ${this.#queue.size} of ${maxQueue} (maxQueue): try again later`);
    return place;
  }

  #withdraw(place: Place): void {
    if (place.state === 'waiting' || this.#news.isOf(place)) this.#leave(place);
  }

  #leave(place: Place): void {
    this.#news.takeBack(place);
    if (place.state === 'over') return;
    if (place.state === 'waiting') {
      this.#dequeue(place);
      return;
    }
    if (place.state === 'abandoned') this.#allowance.discount();
    place.state = 'over';
    this.#passOn(place, true);
    this.#passOnKept();
    this.#serve();
  }

  #abandon(place: Place): void {
    if (place.state !== 'running' || this.#news.isOf(place)) return;
    place.state = 'abandoned';
    this.#allowance.count();
    if (place.hasSlot || (place.isInGate && place.gate?.isMutex === false)) this.#allowance.keep(place);
    this.#passOnKept();
    this.#serve();
  }

  #release(place: Place): boolean {
    const held = place.hasSlot || place.isInGate;
    if (!held || this.#news.isOf(place)) return false;
    if (place.state === 'running') this.#allowance.count();
    place.state = 'abandoned';
    this.#passOn(place, true);
    this.#serve();
    return true;
  }

  #passOnKept(): void {
    for (let place = this.#allowance.next(); place !== undefined; place = this.#allowance.next()) {
      this.#passOn(place, false);
    }
  }

  #passOn(place: Place, mutexToo: boolean): void {
    this.#allowance.drop(place);
    if (place.hasSlot) this.#giveSlotBack(place);
    if (place.gate === undefined || !place.isInGate || (place.gate.isMutex && !mutexToo)) return;
    place.gate.exit(place);
    // Only what leaves a gate can let a nested call in, for it waits for nothing else.
    for (let node = place.gate.nested.first; node !== undefined; node = node.next) {
      if (place.gate.canEnter(node.value)) this.#admit(node.value);
    }
  }

  #giveSlotBack(place: Place): void {
    place.hasSlot = false;
    this.#running -= 1;
    const { scope } = place;
    const hadRoom = scope.hasRoom;
    scope.running -= 1;
    if (!hadRoom) this.#queue.putBack(scope);
    this.#scopes.forgetIfIdle(scope);
  }

  #serve(): void {
    while (this.#queue.size > 0 && this.#running < this.#limits.maxConcurrency) {
      const place = this.#queue.takeNext();
      if (place === undefined) break;
      this.#admit(place);
    }
    this.#news.tellAll();
  }

  #admit(place: Place): void {
    this.#start(place);
    this.#dequeue(place);
    this.#news.add(place);
  }

  #canStart(place: Place): boolean {
    if (place.gate !== undefined && !place.gate.canEnter(place)) return false;
    if (place.isNested) return true;
    return this.#running < this.#limits.maxConcurrency && place.scope.hasRoom;
  }

  // Invariant: all or nothing, and only when it can.
  #start(place: Place): void {
    place.state = 'running';
    place.gate?.enter(place);
    if (place.isNested) {
      this.#scopes.forgetIfIdle(place.scope);
      return;
    }
    place.hasSlot = true;
    this.#running += 1;
    place.scope.running += 1;
  }

  // It waits no more: it has started, or is over.
  #dequeue(place: Place): void {
    if (place.state === 'waiting') place.state = 'over';
    this.#queue.remove(place);
    this.#scopes.forgetIfIdle(place.scope);
    if (this.#queue.size > 0 || this.#expiry === undefined) return;
    this.#clock.clearTimer(this.#expiry);
    this.#expiry = undefined;
  }

  #dismiss(place: Place, why: string): void {
    this.#dequeue(place);
    this.#news.add(place, refusal(place.user, why));
  }

  #refuse(place: Place, why: string): void {
    place.state = 'over';
    this.#scopes.forgetIfIdle(place.scope);
    place.user.refused(refusal(place.user, why));
  }

  // So that one client cannot fill the queue for all.
  #pushOutFor(place: Place): boolean {
    const newest = this.#queue.newestOfMost();
    const most = newest?.scope.waiting ?? 0;
    if (newest === undefined || place.scope.waiting >= most) return false;
    const full = `the queue is full (maxQueue ${this.#limits.maxQueue})`;
    this.#dismiss(newest, `${full}, its client has the most in it (${most}), and another client needed room`);
    return true;
  }

  // All waits are of one length: who came first is the first to go, and one timer is enough.
  #arm(): void {
    const { wait } = this.#queue.oldest ?? {};
    const { queueTimeoutMs } = this.#limits;
    if (wait === undefined || queueTimeoutMs === Infinity) return;
    const left = wait.since + queueTimeoutMs - this.#clock.now();
    const ms = Math.min(Math.max(0, Math.ceil(left)), LONGEST_TIMER_MS);
    this.#expiry = this.#clock.setTimer(() => this.#expire(), ms);
  }

  #expire(): void {
    this.#expiry = undefined;
    const { queueTimeoutMs } = this.#limits;
    const now = this.#clock.now();
    for (let place = this.#queue.oldest; place?.wait !== undefined; place = this.#queue.oldest) {
      if (place.wait.since + queueTimeoutMs > now) break;
      this.#dismiss(place, `it waited for ${queueTimeoutMs} ms, and ${this.#obstacle(place)}`);
    }
    this.#arm();
    this.#news.tellAll();
  }

  #obstacle(place: Place): string {
    if (place.gate !== undefined && !place.gate.canEnter(place)) return place.gate.whyShut(place);
    const { maxConcurrency, maxConcurrencyPerScope } = this.#limits;
    const running = this.#running;
    if (running >= maxConcurrency) return `the server runs ${running} of ${maxConcurrency} (maxConcurrency)`;
    return `its client runs ${maxConcurrencyPerScope} of ${maxConcurrencyPerScope} (maxConcurrencyPerScope)`;
  }
}

function refusal(user: SlotUser, why: string): string {
  return `estop: ${user.what} was not run: ${why}`;
}
