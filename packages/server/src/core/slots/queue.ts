/**
 * Who is next: calls wait in one line for each scope and gate (an entry), and the entries of a gate take turns.
 *
 * Between the heads of the gates that one is next whose scope was served longest ago, at whatever gate: so no scope
 * has more turns for waiting at more gates, and none loses its turn at one gate by being served at another.
 * Looks at as many entries as there are gates with somebody waiting, however many calls and scopes wait.
 */
import type { Gate } from './gate.ts';
import { LinkedList, type Node } from './linked-list.ts';
import type { Place } from './place.ts';
import type { Scope } from './scopes.ts';

/** One line: the calls of one scope that wait for one gate, or for none. */
export interface Entry {
  readonly scope: Scope;
  readonly gate: Gate | undefined;
  readonly places: LinkedList<Place>;
  /** When it was last served or, not served yet, began to wait. */
  turn: number;
  /** Among its gate's entries. Invariant: undefined only when its scope has no room, and it was set aside for that. */
  inTurn: Node<Entry> | undefined;
}

/** How a call waits. */
export interface Wait {
  readonly since: number;
  readonly arrival: number;
  /** Where it waits for its turn. Nested calls hold up what their ancestors hold: they wait outside of all turns. */
  readonly entry: Entry | undefined;
  readonly line: LinkedList<Place>;
  readonly inLine: Node<Place>;
  readonly inAll: Node<Place>;
}

export class Queue {
  // In the order of arrival, which is also that of expiry.
  readonly #all = new LinkedList<Place>();
  // Invariant: in the order of `turn`; at most one entry of a scope for each gate, and no list is empty.
  readonly #entries = new Map<Gate | undefined, LinkedList<Entry>>();
  // Counts arrivals and turns: of two, the lower came first.
  #count = 0;

  get size(): number {
    return this.#all.size;
  }

  get oldest(): Place | undefined {
    return this.#all.first?.value;
  }

  add(place: Place, now: number): void {
    this.#count += 1;
    place.scope.waiting += 1;
    const entry = place.isNested ? undefined : this.#entry(place);
    const line = entry?.places ?? place.gate?.nested;
    if (line === undefined) throw new Error('estop: a nested call without a gate has nothing to wait for');
    const [inLine, inAll] = [line.insert(place), this.#all.insert(place)];
    place.wait = { since: now, arrival: this.#count, entry, line, inLine, inAll };
  }

  remove(place: Place): void {
    const { wait, scope } = place;
    if (wait === undefined) return;
    const { entry, line, inLine, inAll } = wait;
    place.wait = undefined;
    scope.waiting -= 1;
    this.#all.remove(inAll);
    line.remove(inLine);
    if (entry === undefined || line.size > 0) return;
    this.#setAside(entry);
    scope.entries.delete(entry.gate);
  }

  /** Takes out the call whose turn it is among all whose gate and scope have room. Does not ask whether the server has. */
  takeNext(): Place | undefined {
    const entry = this.#nextEntry();
    const place = entry?.places.first?.value;
    if (entry === undefined || place === undefined) return undefined;
    this.#count += 1;
    entry.scope.turn = this.#count;
    entry.turn = this.#count;
    this.#setAside(entry);
    this.#putIn(entry);
    this.remove(place);
    return place;
  }

  /** The scope has room again: what was set aside has the turns back that it had. */
  putBack(scope: Scope): void {
    for (const entry of scope.entries.values()) if (entry.inTurn === undefined) this.#putIn(entry);
  }

  /** The newest call of the scope of which most wait; looks at all that wait. */
  newestOfMost(): Place | undefined {
    let newest = this.#all.last?.value;
    for (let node = this.#all.last; node !== undefined; node = node.previous) {
      if (newest === undefined || node.value.scope.waiting > newest.scope.waiting) newest = node.value;
    }
    return newest;
  }

  #entry({ scope, gate }: Place): Entry {
    const known = scope.entries.get(gate);
    if (known !== undefined) return known;
    if (scope.entries.size === 0) scope.turn = this.#count;
    const entry = { scope, gate, places: new LinkedList<Place>(), turn: this.#count, inTurn: undefined };
    scope.entries.set(gate, entry);
    this.#putIn(entry);
    return entry;
  }

  #nextEntry(): Entry | undefined {
    let next: Entry | undefined;
    for (const [gate, entries] of this.#entries) {
      if (gate !== undefined && !gate.hasRoom) continue;
      const head = this.#head(entries);
      if (head !== undefined && (next === undefined || isBefore(head, next))) next = head;
    }
    return next;
  }

  // What stands at the head without room is looked at once, not each time: it comes back when its scope has room.
  #head(entries: LinkedList<Entry>): Entry | undefined {
    let head = entries.first?.value;
    while (head !== undefined && !head.scope.hasRoom) {
      this.#setAside(head);
      head = entries.first?.value;
    }
    return head;
  }

  // Passes only entries that came back before it, for it was at the head; a served or new one passes none.
  #putIn(entry: Entry): void {
    const entries = this.#entries.get(entry.gate) ?? new LinkedList();
    this.#entries.set(entry.gate, entries);
    const isLast = entries.last === undefined || entries.last.value.turn < entry.turn;
    let next = isLast ? undefined : entries.first;
    while (next !== undefined && next.value.turn < entry.turn) next = next.next;
    entry.inTurn = entries.insert(entry, next);
  }

  #setAside(entry: Entry): void {
    const entries = this.#entries.get(entry.gate);
    if (entries === undefined || entry.inTurn === undefined) return;
    entries.remove(entry.inTurn);
    entry.inTurn = undefined;
    if (entries.size === 0) this.#entries.delete(entry.gate);
  }
}

// Two of one scope have the same turn.
function isBefore(one: Entry, other: Entry): boolean {
  if (one.scope !== other.scope) return one.scope.turn < other.scope.turn;
  return arrivalOf(one) < arrivalOf(other);
}

function arrivalOf(entry: Entry): number {
  return entry.places.first?.value.wait?.arrival ?? Infinity;
}
