/**
 * All that a call has started through estop, as one fact: as weak as its weakest part.
 *
 * Does not know of work that was started by other means, and forgets what has ended, but not how.
 */
import { allOf, type WorkFact } from '../outcome.ts';
import type { Work } from './work.ts';

export class Workload {
  // Invariant: holds what may go on; the facts of what has ended are in `#past`.
  readonly #going = new Set<Work>();
  #past: WorkFact = 'none';

  get fact(): WorkFact {
    return allOf([this.#past, ...this.works.map((work) => work.fact)]);
  }

  get works(): readonly Work[] {
    return [...this.#going];
  }

  /** @param ended is told when it has, after `fact` says so */
  add(work: Work, ended: () => void): void {
    this.#going.add(work);
    void work.ended.then(() => {
      this.#past = allOf([this.#past, work.fact]);
      this.#going.delete(work);
      ended();
    });
  }
}
