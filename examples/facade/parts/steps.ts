/** The steps of a long job. The first few run freely; the next one is held until the gate is opened. */
import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';

export class Steps {
  /** Steps that are done. */
  done = 0;
  /** `held`, when the first step waits at the gate. */
  readonly events = new EventEmitter();
  readonly #free: number;
  readonly #gate: Promise<void>;
  #open = (): void => {};

  constructor(free: number) {
    this.#free = free;
    this.#gate = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  /** From now on every step runs freely. */
  open(): void {
    this.#open();
  }

  readonly compute = async (step: number): Promise<void> => {
    await nextTurn();
    if (step >= this.#free) {
      this.events.emit('held');
      await this.#gate;
    }
    this.done += 1;
  };
}
