/** Waits for a shape, from outside: until it is up, until it is gone. Bounded. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isUp, type Shape } from './shapes.ts';
import { type Seen, stillRunning, survivors } from './survivors.ts';

const LOOK_EVERY_MS = 2;
/** Generous: for a machine on which everything takes long. */
const UP_WITHIN_MS = 20_000;

/**
 * @returns all processes of the shape
 * @throws when it does not come up, with what there is of it
 */
export async function untilUp(shape: Shape, marker: string): Promise<Seen[]> {
  const end = performance.now() + UP_WITHIN_MS;
  for (;;) {
    const seen = survivors(marker);
    if (isUp(shape, seen)) return seen;
    if (performance.now() > end) {
      const lines = seen.map(({ state, name, command }) => `\n  ${state} ${name}: ${command}`);
      throw new Error(`the shape "${shape.name}" did not come up; there is:${lines.join('')}`);
    }
    await sleep(LOOK_EVERY_MS);
  }
}

export interface Gone {
  /** What still runs when the wait is over; empty when the shape is gone. */
  readonly left: readonly Seen[];
  /** On the clock of `process.hrtime`, which all processes share: when none of it was seen any more. */
  readonly at: bigint;
}

/**
 * @param known  processes of the shape, which are looked at before others are looked for: that is quick
 * @param pause  between two looks
 */
export async function untilGone(
  marker: string,
  known: readonly Seen[],
  withinMs: number,
  pause: () => Promise<unknown> = () => sleep(LOOK_EVERY_MS),
): Promise<Gone> {
  const end = performance.now() + withinMs;
  for (let running = known; ; ) {
    running = stillRunning(running);
    const at = process.hrtime.bigint();
    if (running.length === 0) running = survivors(marker);
    if (running.length === 0) return { left: [], at };
    if (performance.now() > end) return { left: survivors(marker), at };
    await pause();
  }
}
