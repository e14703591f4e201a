/**
 * How many abandoned calls there are, and which of them keep their places in the limits because there are too many.
 *
 * Up to `most` of them pass their places on, so that nothing starves; the others stand in line for it, so that no
 * more than the limit and `most` together ever run. Does not count what an operator released against that.
 */
import type { Place } from './place.ts';

export class Allowance {
  readonly #most: number;
  #abandoned = 0;
  // Oldest first. Invariant, outside of this file: empty while fewer than `most` of the abandoned calls have passed on.
  readonly #kept = new Set<Place>();

  constructor(most: number) {
    this.#most = most;
  }

  get abandoned(): number {
    return this.#abandoned;
  }

  get isUsedUp(): boolean {
    return this.#abandoned >= this.#most;
  }

  count(): void {
    this.#abandoned += 1;
  }

  discount(): void {
    this.#abandoned -= 1;
  }

  /** It holds something in a limit, until it is its turn to pass that on. */
  keep(place: Place): void {
    this.#kept.add(place);
  }

  /** It holds nothing in a limit any more. */
  drop(place: Place): void {
    this.#kept.delete(place);
  }

  /** The one that is to pass on next, if one may. */
  next(): Place | undefined {
    if (this.#abandoned - this.#kept.size >= this.#most) return undefined;
    for (const oldest of this.#kept) return oldest;
    return undefined;
  }

  /** For a sentence. */
  whyUsedUp(): string {
    const numbers = `${this.#abandoned} of ${this.#most} (maxAbandoned)`;
    return `the server is overloaded by calls that were answered and run on, ${numbers}: have their handlers end at their signal, or raise maxAbandoned`;
  }
}
