/**
 * The lost statements: those whose connection was lost before the server had answered for them.
 *
 * Each is looked for over a new connection, made like the lost one: at once, when its call is stopped or over, and then
 * at growing pauses, until its process is found no more. While that is there, it is cancelled, since its answer can
 * reach nobody. Where a cancel is not enough (the process does not notice that its client is gone, and waits to be read
 * or to be told more), the session is ended, but only for a call that is stopped or over.
 *
 * Does not prove anything: another server, after a failover, knows nothing of the process either, and a server that
 * cannot be reached says nothing. Where it never can, or where a pooler gives pids of its own, the statement stays
 * `unknown`, and is looked for as long as this process lives. No pause keeps the process alive.
 */
import { systemClock, type TimerHandle } from '../../core/index.ts';
import type { Client, OwnClient } from './driver.ts';
import { look, terminate } from './look.ts';

export interface Lost {
  readonly client: Client;
  readonly pid: number;
  /** By the system's clock. */
  readonly sentAt: number;
  /** Whether its call is stopped or over. */
  isOver(): boolean;
  /** A new client to the same server. */
  another(): OwnClient;
  /** By its secret, so that it can hit nothing else, on whatever server. May never resolve. */
  cancel(): Promise<void>;
  /** It was not found. Once. */
  gone(): void;
}

export interface Look {
  /** Does not wait for the pause to end. */
  now(): void;
}

/** ms; a restarted server is back after seconds. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** ms that one look may take, from its connection to the end of that. */
const LOOK_MS = 10_000;

// Invariant: holds a server and user as long as something is lost there, and no longer.
const lookouts = new Map<string, Lookout>();

/** Tells it when it is gone. */
export function lookFor(lost: Lost): Look {
  const { host, port, user, database } = lost.client;
  const key = JSON.stringify([host, port, user, database]);
  let lookout = lookouts.get(key);
  if (lookout === undefined) {
    lookout = new Lookout(() => lookouts.delete(key));
    lookouts.set(key, lookout);
  }
  lookout.add(lost);
  return lookout;
}

/** Looks for all that was lost on one server, one look at a time: a server that comes back meets one connection. */
class Lookout implements Look {
  readonly #done: () => void;
  // Each with the time of its first cancel.
  readonly #lost = new Map<Lost, number | undefined>();
  #pauseMs = FIRST_PAUSE_MS;
  #timer: TimerHandle | undefined;
  #isLooking = false;
  #isAskedAgain = false;

  constructor(done: () => void) {
    this.#done = done;
  }

  add(lost: Lost): void {
    this.#lost.set(lost, undefined);
    this.now();
  }

  now(): void {
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#isAskedAgain = true;
    if (!this.#isLooking) void this.#looks();
  }

  async #looks(): Promise<void> {
    systemClock.clearTimer(this.#timer);
    this.#isLooking = true;
    do await this.#once();
    while (this.#isAskedAgain && this.#lost.size > 0);
    this.#isLooking = false;
    if (this.#lost.size === 0) return this.#done();
    this.#timer = systemClock.unref(systemClock.setTimer(() => void this.#looks(), this.#pauseMs));
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
  }

  /** Never rejects, and ends in bounded time. */
  async #once(): Promise<void> {
    this.#isAskedAgain = false;
    const [[lost, cancelledAt] = []] = this.#lost;
    if (lost === undefined) return;
    // Each in turn lends its ways: the password of one may not be good any more.
    this.#lost.delete(lost);
    this.#lost.set(lost, cancelledAt);
    let giveUp = (): void => {};
    const limit = new Promise<void>((resolve) => {
      giveUp = resolve;
    });
    const timer = systemClock.unref(systemClock.setTimer(giveUp, LOOK_MS));
    // A look that fails has seen nothing.
    await this.#over(lost, limit).catch(() => {});
    systemClock.clearTimer(timer);
  }

  async #over({ another }: Lost, limit: Promise<void>): Promise<void> {
    const client = another();
    client.on('error', () => {});
    const given = limit.then(() => void client.connection.stream.destroy());
    try {
      await Promise.race([this.#with(client), given]);
    } finally {
      await Promise.race([client.end(), given]);
    }
  }

  async #with(client: OwnClient): Promise<void> {
    await client.connect();
    // Whoever asked until now is answered by what comes.
    this.#isAskedAgain = false;
    const lost = [...this.#lost.keys()];
    const now = systemClock.now();
    const there = await look(
      client,
      lost.map(({ pid, sentAt }) => ({ pid, ageMs: now - sentAt })),
    );
    for (const [index, one] of lost.entries()) {
      if (!there.has(index) && this.#lost.delete(one)) one.gone();
    }
    // One after the other: each cancel is a connection too.
    for (const [index, isSure] of there) await this.#end(client, lost[index] as Lost, isSure);
  }

  async #end(client: OwnClient, lost: Lost, isSure: boolean): Promise<void> {
    // A later look was quicker than this one, which had been given up.
    if (!this.#lost.has(lost)) return;
    const now = systemClock.now();
    const cancelledAt = this.#lost.get(lost) ?? now;
    this.#lost.set(lost, cancelledAt);
    const isInVain = now - cancelledAt >= FIRST_PAUSE_MS / 2;
    if (isInVain && isSure && lost.isOver()) await terminate(client, lost.pid).catch(() => {});
    else await lost.cancel();
  }
}
