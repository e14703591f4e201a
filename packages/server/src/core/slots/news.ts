/**
 * Tells users what became of their calls: one after the other, however deep they call back.
 *
 * What they cause meanwhile is told by the loop that already runs, so the stack does not grow. When one throws, all
 * are told nevertheless, and the first error goes to whoever set this off. Does not tell what was taken back before.
 */
import type { Place } from './place.ts';

export class News {
  // In the order of telling: with why it was refused, or without that it was admitted.
  readonly #untold = new Map<Place, string | undefined>();
  #isTelling = false;

  isOf(place: Place): boolean {
    return this.#untold.has(place);
  }

  add(place: Place, refusal?: string): void {
    this.#untold.set(place, refusal);
  }

  takeBack(place: Place): void {
    this.#untold.delete(place);
  }

  tellAll(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    let failure: { error: unknown } | undefined;
    for (const [place, refusal] of this.#untold) {
      this.#untold.delete(place);
      try {
        if (refusal === undefined) place.user.admitted(place);
        else place.user.refused(refusal);
      } catch (error) {
        failure ??= { error };
      }
    }
    this.#isTelling = false;
    if (failure !== undefined) throw failure.error;
  }
}
