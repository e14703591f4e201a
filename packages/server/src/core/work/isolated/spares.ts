/**
 * Threads or processes that are started ahead, with their module imported, for calls to come.
 *
 * Each takes one call and is ended with it: what a call leaves behind in one (timers, say) meets no other call, and its
 * exit is the proof. One that is taken or dies is replaced at once, within a bound. They keep no process alive.
 *
 * A module that cannot be imported makes no spare and no crash: a call starts its own, which gets the error.
 */
import type { Body } from './body.ts';
import type { RunMessage } from './protocol.ts';

/** Spares of one kind that may die between two calls and still be replaced: a module may crash soon after its import. */
const MOST_DEATHS = 3;

export class Spares {
  readonly #start: () => Body;
  // Invariant: those that no call has taken and that have not ended; of these, the ready ones have their module.
  readonly #going = new Set<Body>();
  readonly #ready = new Set<Body>();
  #count = 0;
  #deaths = 0;
  // Invariant: while it is true there is at most one that is not ready, which is tried.
  #isUnfit = false;
  #isClosed = false;

  /** @param start starts one; may throw */
  constructor(start: () => Body) {
    this.#start = start;
  }

  /** Keeps at least so many. */
  keep(count: number): void {
    this.#count = Math.max(this.#count, count);
    this.#fill();
  }

  /**
   * @returns one that runs the function; `undefined` when none is left
   * @throws for what cannot be cloned
   */
  take(run: RunMessage): Body | undefined {
    this.#deaths = 0;
    const [body] = [...this.#ready, ...this.#going];
    if (body !== undefined) this.#give(body, run);
    this.#fill();
    return body;
  }

  /** Ends all that are here, and starts no more. @returns when they have ended */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#going].map((body) => endOf(body)));
  }

  #give(body: Body, run: RunMessage): void {
    this.#going.delete(body);
    this.#ready.delete(body);
    body.ref();
    try {
      body.post(run);
    } catch (error) {
      void endOf(body);
      throw error;
    }
  }

  #fill(): void {
    if (this.#isClosed) return;
    const most = this.#isUnfit ? 1 : this.#count;
    while (this.#going.size < most) if (!this.#add()) return;
  }

  #add(): boolean {
    let body: Body;
    try {
      body = this.#start();
    } catch {
      this.#isUnfit = true;
      return false;
    }
    this.#going.add(body);
    body.unref();
    body.listener = {
      heard: ({ type }) => {
        if (type === 'ready') this.#isNowReady(body);
        else if (type === 'unfit') void endOf(body);
      },
      // It is on its way out, or says so by its end.
      broke() {},
      gone: () => this.#isGone(body),
    };
    return true;
  }

  #isNowReady(body: Body): void {
    this.#ready.add(body);
    this.#isUnfit = false;
    this.#fill();
  }

  #isGone(body: Body): void {
    this.#going.delete(body);
    if (this.#ready.delete(body)) {
      this.#deaths += 1;
      if (this.#deaths < MOST_DEATHS) this.#fill();
    } else this.#isUnfit = true;
  }
}

/** All spares of an engine, which go with it. Those of one module are shared by all that ask for them. */
export class SparePool {
  readonly #spares = new Map<string, Spares>();
  #isClosed = false;

  /** @param key the same for what can stand in for one another */
  keep(key: string, count: number, start: () => Body): Spares {
    const spares = this.#spares.get(key) ?? new Spares(start);
    this.#spares.set(key, spares);
    if (!this.#isClosed) spares.keep(count);
    return spares;
  }

  /** Whether nobody has ever asked for any. */
  get isEmpty(): boolean {
    return this.#spares.size === 0;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#spares.values()].map((spares) => spares.close()));
  }
}

function endOf({ work }: Body): Promise<void> {
  void work.end();
  return work.ended;
}
