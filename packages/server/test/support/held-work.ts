/** Work of a call that ends when the test says so, and keeps what it was told. */
import type { StopReason, Work, WorkFact } from '@estop/server/core';
import { latch } from './waiting.ts';

export class HeldWork implements Work {
  readonly kind = 'thread';
  readonly listens = true;
  fact: WorkFact = 'unknown';
  readonly signals: StopReason[] = [];
  /** How often the ladder has tried to end it. */
  forced = 0;
  readonly #end = latch();
  readonly ended: Promise<void> = this.#end.promise;

  signal(reason: StopReason): void {
    this.signals.push(reason);
  }

  end(): undefined {
    this.forced += 1;
  }

  finish(fact: WorkFact = 'ended'): void {
    this.fact = fact;
    this.#end.open();
  }
}
