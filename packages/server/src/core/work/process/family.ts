/**
 * Who belongs to a tree of processes, look after look: its group, what has its mark, what descends from one of these,
 * and the groups of those.
 *
 * Does not find what left the group, lost its parent and cleared its environment. Signals nobody else: the group only
 * while its number is held, and others by pid and start time.
 */
import { descendantsOf } from './descent-linux.ts';
import { look } from './look.ts';
import { groupExists, isStill, type KillSignal, sendToGroup, sendToGroups } from './send.ts';
import type { ProcessRow, Snapshot } from './snapshot.ts';

/** So many looks in a row that find nothing count as one that is whole. */
const EMPTY_LOOKS = 3;

export class Family {
  readonly #leader: number;
  readonly #cookie: string;
  // Invariant: while it is true, the number of the group is held: the first process is alive, or not waited for yet.
  #hasLeader = true;
  /** The group had other members when the first process had just gone: its number was still held. */
  #hadGroup = false;
  // Invariant: what the last look has shown, and what was noted since; each with its start time.
  #known: readonly ProcessRow[] = [];
  #emptyLooks = 0;

  /** @param leader the pid of the first process, and the number of its group */
  constructor(leader: number, cookie: string) {
    this.#leader = leader;
    this.#cookie = cookie;
  }

  get hasLeader(): boolean {
    return this.#hasLeader;
  }

  /** Whether the last look has found nothing, and can be relied on for that. */
  get isGone(): boolean {
    return !this.#hasLeader && this.#emptyLooks >= EMPTY_LOOKS;
  }

  /** Whether the last look has found nothing, and was not whole. */
  get isDoubtful(): boolean {
    return this.#emptyLooks > 0 && this.#emptyLooks < EMPTY_LOOKS;
  }

  /** The first process has been waited for. To be called at once. */
  leaderExited(): void {
    this.#hasLeader = false;
    this.#hadGroup = groupExists(this.#leader);
  }

  /**
   * Notes who descends from it now, at once: who loses its parent by a signal is not found by descent afterwards.
   *
   * @returns false where that needs a look
   */
  note(): boolean {
    const held = this.#known.filter(isStill);
    const roots = this.#hasLeader ? [this.#leader] : [];
    const descendants = descendantsOf([...roots, ...held.map(({ pid }) => pid)]);
    if (descendants === undefined) return false;
    const rows = new Map([...held, ...descendants].map((row) => [row.pid, row]));
    this.#known = [...rows.values()];
    return true;
  }

  /** @returns who is there now; `undefined` when it could not be looked */
  async see(): Promise<readonly ProcessRow[] | undefined> {
    const snapshot = await look();
    if (snapshot === undefined) return undefined;
    const roots = this.#known.flatMap((row) => snapshot.again(row) ?? []);
    if (this.#hasGroup(snapshot)) roots.push(...snapshot.group(this.#leader));
    this.#known = snapshot.family(roots, this.#cookie);
    if (this.#known.length > 0) this.#emptyLooks = 0;
    else this.#emptyLooks = snapshot.isWhole ? EMPTY_LOOKS : this.#emptyLooks + 1;
    return this.#known;
  }

  /** To all groups that the last look has shown, and to its own at once, while its number is held. */
  send(signal: KillSignal): void {
    if (this.#hasLeader) sendToGroup(this.#leader, signal);
    sendToGroups(this.#known, signal, this.#hasLeader ? this.#leader : undefined);
  }

  /** Of a group without its first process only one look can tell, right after that has gone. */
  #hasGroup(snapshot: Snapshot): boolean {
    if (this.#hasLeader) return true;
    const hadGroup = this.#hadGroup;
    this.#hadGroup = false;
    // A process with that pid is a stranger, and so is its group.
    return hadGroup && !snapshot.has(this.#leader);
  }
}
