/**
 * Time that moves only when a test says so.
 *
 * Like Node, and unlike a careless fake, it fires a timer that is longer than Node can hold at once.
 */
import type { Clock, TimerHandle } from '@estop/server/core';

export const LONGEST_NODE_TIMER_MS = 2 ** 31 - 1;

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

export class VirtualClock implements Clock {
  /** The longest timer that was ever set. */
  longest = 0;
  #now = 0;
  // In the order in which they were set: of two that are due at one moment, the older runs first.
  readonly #timers = new Set<Timer>();
  readonly #background = new Set<Timer>();

  now(): number {
    return this.#now;
  }

  setTimer(run: () => void, ms: number): TimerHandle {
    this.longest = Math.max(this.longest, ms);
    const timer = { at: this.#now + (ms > LONGEST_NODE_TIMER_MS ? 1 : ms), run };
    this.#timers.add(timer);
    return timer;
  }

  clearTimer(handle: TimerHandle): void {
    this.#forget(handle as Timer);
  }

  unref(handle: TimerHandle): TimerHandle {
    this.#background.add(handle as Timer);
    return handle;
  }

  ref(handle: TimerHandle): TimerHandle {
    this.#background.delete(handle as Timer);
    return handle;
  }

  /** How many timers are set, have not run, and would keep a process alive. */
  get pending(): number {
    return this.#timers.size - this.#background.size;
  }

  /** How many are set, have not run, and would not. */
  get background(): number {
    return this.#background.size;
  }

  /** Runs all timers that become due on the way, in order, also those that are set on the way. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (let due = this.#nextUntil(end); due !== undefined; due = this.#nextUntil(end)) {
      this.#forget(due);
      this.#now = Math.max(this.#now, due.at);
      due.run();
    }
    this.#now = end;
  }

  #forget(timer: Timer): void {
    this.#timers.delete(timer);
    this.#background.delete(timer);
  }

  #nextUntil(end: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) if (timer.at <= end && (next === undefined || timer.at < next.at)) next = timer;
    return next;
  }
}
