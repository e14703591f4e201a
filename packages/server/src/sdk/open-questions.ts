/**
 * What the client's user was asked and has not answered: meanwhile the calls that ask stand still.
 */
import type { Call } from '../core/index.ts';

export class OpenQuestions {
  // By id, as text: the SDK takes "0" for 0.
  readonly #calls = new Map<string, readonly Call[]>();

  asked(id: unknown, calls: readonly Call[]): void {
    for (const call of calls) call.pause();
    this.#calls.set(String(id), calls);
  }

  /** Or given up; an id that nobody asked with is none of ours. */
  answered(id: unknown): void {
    for (const call of this.#calls.get(String(id)) ?? []) call.resume();
    this.#calls.delete(String(id));
  }
}
