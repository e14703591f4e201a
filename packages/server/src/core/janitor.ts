/**
 * Sweeps what was left over, at a regular interval, and says each time what it found, also when that is nothing.
 *
 * Keeps no process alive, and no engine that nobody else holds. Sweeps nothing that a call still needs.
 */
import { channels } from './channels.ts';
import { type Clock, LONGEST_TIMER_MS, type TimerHandle } from './clock.ts';
import type { Registry } from './registry.ts';

export class Janitor {
  readonly #clock: Clock;
  readonly #registry: WeakRef<Registry>;
  readonly #everyMs: number;
  #timer: TimerHandle | undefined;

  /** @param everyMs `Infinity`: never comes by itself */
  constructor(clock: Clock, registry: Registry, everyMs: number) {
    this.#clock = clock;
    this.#registry = new WeakRef(registry);
    this.#everyMs = everyMs;
    this.#arm();
  }

  dismiss(): void {
    if (this.#timer !== undefined) this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }

  #arm(): void {
    if (this.#everyMs === Infinity) return;
    const timer = this.#clock.setTimer(() => this.#pass(), Math.min(this.#everyMs, LONGEST_TIMER_MS));
    this.#timer = this.#clock.unref(timer);
  }

  #pass(): void {
    this.#timer = undefined;
    const registry = this.#registry.deref();
    if (registry === undefined) return;
    this.#arm();
    cleanUp(registry);
  }
}

/** One pass. */
export function cleanUp(registry: Registry): void {
  const cleanup = registry.cleanup();
  if (channels.cleanedUp.hasSubscribers) channels.cleanedUp.publish(cleanup);
}
