/**
 * One call's standing with the slots: whether it waits, runs, or runs on after its answer, and what it holds.
 *
 * Each method may be called in any state and any number of times; where it makes no sense it does nothing.
 */
import type { Gate } from './gate.ts';
import type { Wait } from './queue.ts';
import type { Scope } from './scopes.ts';

/** What the slots see of a call, and tell it. Both may call back into the slots and the place. */
export interface SlotUser {
  readonly scope: string;
  /** For sentences: `tool "scrape"`. */
  readonly what: string;
  /** Once: the call may run. Within `request` when there is room, else within what another call does. */
  admitted(place: Place): void;
  /** Once, instead of `admitted`: the call never runs. */
  refused(message: string): void;
}

/** `over`: left, withdrawn or refused; it holds nothing, for good. */
export type PlaceState = 'waiting' | 'running' | 'abandoned' | 'over';

/** What a place needs of the slots. */
export interface PlaceHost {
  withdraw(place: Place): void;
  leave(place: Place): void;
  abandon(place: Place): void;
  release(place: Place): boolean;
}

/** The fields are the slots' own: read them, and write none. */
export class Place {
  readonly user: SlotUser;
  readonly scope: Scope;
  readonly gate: Gate | undefined;
  readonly isNested: boolean;
  // The nearest that may still hold something is enough: those that are over are skipped.
  parent: Place | undefined;
  state: PlaceState = 'waiting';
  // Invariant: defined exactly while it waits in the queue.
  wait: Wait | undefined;
  // A place in the server's limit, and with it one in its scope's. Invariant: never of a nested call.
  hasSlot = false;
  // Invariant: only while `running` or `abandoned`. See `Gate` for the two below.
  isInGate = false;
  lender: Place | undefined;
  borrower: Place | undefined;
  readonly #host: PlaceHost;

  constructor(host: PlaceHost, user: SlotUser, scope: Scope, gate: Gate | undefined, parent: Place | undefined) {
    this.#host = host;
    this.user = user;
    this.scope = scope;
    this.gate = gate;
    this.isNested = parent !== undefined;
    this.parent = parent;
  }

  /** Stopped while it waits: gone at once, and told nothing any more. No effect on a call that was admitted. */
  withdraw(): void {
    this.#host.withdraw(this);
  }

  /** The handler has settled and its work is over: all that the call holds passes on. */
  leave(): void {
    this.#host.leave(this);
  }

  /**
   * Answered, though the handler or its work goes on: its places in the limits pass on, up to `maxAbandoned`.
   * Does not open a mutex.
   */
  abandon(): void {
    this.#host.abandon(this);
  }

  /**
   * The operator's way out: all that the call holds passes on, a mutex too. Does not end the handler: until
   * `leave` it counts as abandoned, and may meet in the mutex whoever comes next.
   *
   * @returns false when there was nothing to pass on
   */
  release(): boolean {
    return this.#host.release(this);
  }
}

/** The nearest ancestor that is not over. Forgets those between, so that a chain of calls does not keep them all. */
export function liveParent(place: Place): Place | undefined {
  while (place.parent?.state === 'over') place.parent = place.parent.parent;
  return place.parent;
}
