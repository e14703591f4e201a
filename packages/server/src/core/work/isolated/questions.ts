/**
 * What a function asks of the call's side, from its thread or process: each question is answered once, or taken back.
 *
 * All that are open end with the call's stop. Each rejection is handled: a question that nobody waits for is no crash.
 */
import type { AskOptions } from '../../context.ts';
import type { StopReason } from '../../reason.ts';
import { takeApart } from './crossing.ts';
import type { EntryPort } from './entry.ts';

interface Question {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export class Questions {
  readonly #port: EntryPort;
  readonly #open = new Map<number, Question>();
  #lastId = 0;

  constructor(port: EntryPort) {
    this.#port = port;
  }

  /** @param reason with which the call was stopped already, if it was: then nothing is asked */
  ask(
    what: string,
    params: unknown,
    options: AskOptions | undefined,
    reason: StopReason | undefined,
  ): Promise<unknown> {
    const { signal, ...others } = options ?? {};
    this.#lastId += 1;
    const id = this.#lastId;
    const takeBack = (): void => {
      this.#port.post({ type: 'taken-back', id, reason: takeApart(signal?.reason) });
    };
    const answer = new Promise<unknown>((resolve, reject) => {
      if (reason !== undefined) throw reason;
      // Throws for what cannot be cloned.
      this.#port.post({ type: 'ask', id, what, args: [params, others] });
      this.#open.set(id, { resolve, reject });
      // The other side takes it back and rejects it, so that it ends as it does there.
      if (signal?.aborted) takeBack();
      else signal?.addEventListener('abort', takeBack, { once: true });
    });
    const unlink = (): void => signal?.removeEventListener('abort', takeBack);
    answer.then(unlink, unlink);
    return answer;
  }

  answered(id: number, value: unknown): void {
    this.#close(id)?.resolve(value);
  }

  rejected(id: number, error: unknown): void {
    this.#close(id)?.reject(error);
  }

  stop(reason: StopReason): void {
    for (const id of [...this.#open.keys()]) this.rejected(id, reason);
  }

  #close(id: number): Question | undefined {
    const question = this.#open.get(id);
    this.#open.delete(id);
    return question;
  }
}
