/** What a server says besides the protocol, a line at a time. */
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import type { Readable } from 'node:stream';

const WITHIN_MS = 10_000;

/** The server did not say it in time. */
export class Silent extends Error {}

export class Told {
  readonly #lines: Interface;

  constructor(stream: Readable) {
    this.#lines = createInterface({ input: stream });
  }

  /**
   * The line after those that were asked for; ask before what makes the server say it.
   *
   * @param word what the line must begin with
   * @returns the rest of it
   * @throws Silent when there is none in time; Error when it is another
   */
  async next(word: string, withinMs = WITHIN_MS): Promise<string> {
    const given = new AbortController();
    const timer = setTimeout(() => given.abort(), withinMs);
    try {
      const [line] = (await once(this.#lines, 'line', { signal: given.signal })) as [string];
      const [first, ...rest] = line.split(' ');
      if (first !== word) throw new Error(`the server said ${JSON.stringify(line)}, not ${JSON.stringify(word)}`);
      return rest.join(' ');
    } catch (error) {
      throw given.signal.aborted ? new Silent(`the server did not say ${word} within ${withinMs} ms`) : error;
    } finally {
      clearTimeout(timer);
    }
  }
}
