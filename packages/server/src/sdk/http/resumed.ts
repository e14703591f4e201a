/**
 * Streams that a client can resume, and which of them are over without an answer: a client goes on resuming such a one
 * for ever, unless it is told that there is nothing more.
 *
 * Knows a stream by the event ids that went out on it. Remembers the last of those.
 */
import type { Answer } from './answer.ts';
import type { Post } from './post.ts';

const REMEMBERED = 10_000;
const EVENT_ID = /^id: ?(.+)$/gm;

export class Resumed {
  // Invariant: each event id stands in one of them at most.
  readonly #open = new Map<string, Post>();
  readonly #over = new Set<string>();
  readonly #ids = new WeakMap<Post, string[]>();

  /** Before the stream's first event goes out. */
  watch(post: Post): void {
    this.#ids.set(post, []);
    this.#listen(post, post.answer);
  }

  /** The client has resumed a stream: what goes out there is the same stream's. */
  goesOn(after: string, answer: Answer): void {
    const post = this.#open.get(after);
    if (post !== undefined) this.#listen(post, answer);
  }

  over(post: Post): void {
    for (const id of this.#ids.get(post) ?? []) {
      this.#open.delete(id);
      if (post.isSilent) this.#remember(id);
    }
    this.#ids.delete(post);
  }

  isOver(after: string): boolean {
    return this.#over.has(after);
  }

  #listen(post: Post, answer: Answer): void {
    answer.watch((chunk) => {
      for (const [, id = ''] of chunk.matchAll(EVENT_ID)) this.#seen(id, post);
    });
  }

  #seen(id: string, post: Post): void {
    const ids = this.#ids.get(post);
    if (ids !== undefined) {
      ids.push(id);
      this.#open.set(id, post);
    } else if (post.isSilent) this.#remember(id);
  }

  #remember(id: string): void {
    this.#over.add(id);
    if (this.#over.size > REMEMBERED) this.#over.delete(this.#over.values().next().value as string);
  }
}
