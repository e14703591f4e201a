/**
 * Many alarms on one timer: what has a due time waits in a heap, and the timer is set for the earliest.
 *
 * No alarm rings early, twice, or after `unset`. When none is left the timer may stay for a while; then it keeps no
 * process alive.
 */
import { type Clock, LONGEST_TIMER_MS, type TimerHandle } from './clock.ts';

/** Both numbers are the heap's own: read `dueAt`, and write neither. */
export interface Alarm {
  /** On the clock, in ms. */
  dueAt: number;
  /** Where in the heap; -1: not set. */
  at: number;
  ring(): void;
}

export class Alarms {
  readonly #clock: Clock;
  // Invariant: a binary heap by `dueAt`; an alarm in it knows where it stands.
  readonly #heap: Alarm[] = [];
  // Invariant: where there is an alarm, there is a timer that fires no later than the earliest.
  #timer: TimerHandle | undefined;
  #firesAt = Infinity;
  #isIdle = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  /** Sets an alarm, or moves one that is set. */
  set(alarm: Alarm, dueAt: number): void {
    alarm.dueAt = dueAt;
    if (alarm.at < 0) {
      alarm.at = this.#heap.length;
      this.#heap.push(alarm);
    }
    this.#rise(alarm);
    this.#sink(alarm);
    this.#arm();
  }

  unset(alarm: Alarm): void {
    if (alarm.at < 0) return;
    const last = this.#heap.pop() as Alarm;
    if (last !== alarm) {
      this.#put(last, alarm.at);
      this.#rise(last);
      this.#sink(last);
    }
    alarm.at = -1;
    if (this.#heap.length === 0) this.#rest();
  }

  /** Lets go of the timer when no alarm is set. */
  dismiss(): void {
    if (this.#timer === undefined || this.#heap.length > 0) return;
    this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
    this.#isIdle = false;
  }

  #arm(): void {
    const earliest = this.#heap[0];
    if (earliest === undefined) {
      this.#rest();
      return;
    }
    if (this.#timer !== undefined && this.#firesAt <= earliest.dueAt) {
      if (this.#isIdle) this.#clock.ref(this.#timer);
    } else {
      if (this.#timer !== undefined) this.#clock.clearTimer(this.#timer);
      const now = this.#clock.now();
      // A timer longer than Node can hold would fire at once; so a long wait is a chain of timers.
      const ms = Math.min(Math.max(0, Math.ceil(earliest.dueAt - now)), LONGEST_TIMER_MS);
      this.#firesAt = now + ms;
      this.#timer = this.#clock.setTimer(() => this.#fire(), ms);
    }
    this.#isIdle = false;
  }

  // Left as it is: most often the next alarm comes soon, and later than this.
  #rest(): void {
    if (this.#timer === undefined || this.#isIdle) return;
    this.#isIdle = true;
    this.#clock.unref(this.#timer);
  }

  #fire(): void {
    this.#timer = undefined;
    this.#isIdle = false;
    const now = this.#clock.now();
    try {
      for (let due = this.#heap[0]; due !== undefined && due.dueAt <= now; due = this.#heap[0]) {
        this.unset(due);
        due.ring();
      }
    } finally {
      this.#arm();
    }
  }

  #rise(alarm: Alarm): void {
    while (alarm.at > 0) {
      const above = this.#heap[(alarm.at - 1) >> 1] as Alarm;
      if (above.dueAt <= alarm.dueAt) return;
      this.#swap(alarm, above);
    }
  }

  #sink(alarm: Alarm): void {
    for (;;) {
      const left = this.#heap[2 * alarm.at + 1];
      const right = this.#heap[2 * alarm.at + 2];
      const below = right !== undefined && left !== undefined && right.dueAt < left.dueAt ? right : left;
      if (below === undefined || alarm.dueAt <= below.dueAt) return;
      this.#swap(alarm, below);
    }
  }

  #swap(one: Alarm, other: Alarm): void {
    const at = one.at;
    this.#put(one, other.at);
    this.#put(other, at);
  }

  #put(alarm: Alarm, at: number): void {
    this.#heap[at] = alarm;
    alarm.at = at;
  }
}
