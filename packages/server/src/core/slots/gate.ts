/**
 * A named limit or a named mutex, and who is in it: on a place of its own there, or on one lent by an ancestor.
 *
 * A call that is in a gate may lend its place to one descendant at a time, and that one
 * to one of its own: so a place is a chain, the owner first. Who drops out of a chain closes it behind itself.
 */
import { LinkedList } from './linked-list.ts';
import { liveParent, type Place } from './place.ts';

export class Gate {
  readonly name: string;
  readonly isMutex: boolean;
  readonly max: number;
  // The queue's own: the nested calls that wait for it, in the order of arrival.
  readonly nested = new LinkedList<Place>();
  // Invariant: the number of chains, never above `max`; a place is in at most one.
  #running = 0;
  // Invariant: of a mutex, the owner of its only chain. Of a limit it is just one of them.
  #owner: Place | undefined;

  constructor(name: string, max: number, isMutex: boolean) {
    this.name = name;
    this.max = max;
    this.isMutex = isMutex;
  }

  /** How many places in it are taken; a lent one counts once. */
  get running(): number {
    return this.#running;
  }

  get hasRoom(): boolean {
    return this.#running < this.max;
  }

  canEnter(place: Place): boolean {
    return this.hasRoom || this.#lenderFor(place) !== undefined;
  }

  /** Only when it can. */
  enter(place: Place): void {
    const lender = this.#lenderFor(place);
    place.isInGate = true;
    place.lender = lender;
    if (lender !== undefined) lender.borrower = place;
    else {
      this.#running += 1;
      this.#owner = place;
    }
  }

  /** What it lent goes on to be lent by its lender; without one, whoever borrowed from it has the place now. */
  exit(place: Place): void {
    if (!place.isInGate) return;
    const { lender, borrower } = place;
    if (lender !== undefined) lender.borrower = borrower;
    if (borrower !== undefined) borrower.lender = lender;
    if (lender === undefined) {
      if (borrower === undefined) this.#running -= 1;
      this.#owner = borrower;
    }
    place.isInGate = false;
    place.lender = undefined;
    place.borrower = undefined;
  }

  /** Why nobody enters, for a sentence; a nested call is told of the one that has what its ancestor lent. */
  whyShut(place: Place): string {
    if (!this.isMutex) return `the limit ${JSON.stringify(this.name)} runs ${this.#running} of ${this.max}`;
    const holder = innermostIn(this, place)?.borrower ?? this.#owner;
    const runsOn = holder?.state === 'abandoned' ? ', which was answered but runs on' : '';
    return `the mutex ${JSON.stringify(this.name)} is held by ${holder?.user.what}${runsOn}`;
  }

  #lenderFor(place: Place): Place | undefined {
    const ancestor = innermostIn(this, place);
    return ancestor?.borrower === undefined ? ancestor : undefined;
  }
}

function innermostIn(gate: Gate, place: Place): Place | undefined {
  let ancestor = liveParent(place);
  while (ancestor !== undefined && !(ancestor.isInGate && ancestor.gate === gate)) ancestor = liveParent(ancestor);
  return ancestor;
}
