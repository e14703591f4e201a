/**
 * The answers that are on their way: each from its request until its body has been read, or will not be.
 */
import { type Clock, within } from '../../core/index.ts';

export class Answers {
  #open = 0;
  #waiting: (() => void)[] = [];

  /** @returns says that the answer is over; to be called once */
  begin(): () => void {
    this.#open += 1;
    return () => {
      this.#open -= 1;
      if (this.#open === 0) for (const none of this.#waiting.splice(0)) none();
    };
  }

  /** Resolves when none is on its way, after `ms` at the latest. */
  async none(clock: Clock, ms: number): Promise<void> {
    if (this.#open === 0) return;
    await within(clock, ms, new Promise<void>((resolve) => this.#waiting.push(resolve)));
  }
}

/** @param over called once, when the body has been read to its end (`true`) or is given up; at once when it is no stream */
export function whenOver(response: Response, over: (isWhole: boolean) => void): Response {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (response.body === null || !isStream) {
    over(true);
    return response;
  }
  const reader = response.body.getReader();
  let isOver = false;
  // A body that is given up ends the reading of it as well.
  const end = (isWhole: boolean): void => {
    if (!isOver) over(isWhole);
    isOver = true;
  };
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) {
          controller.enqueue(value);
          return;
        }
        end(true);
        controller.close();
      } catch (error) {
        end(false);
        controller.error(error);
      }
    },
    cancel(reason) {
      end(false);
      return reader.cancel(reason);
    },
  });
  return new Response(body, response);
}
