/**
 * The processes of the machine at one moment, and which of them belong together.
 *
 * As old as the look that made it: who acts on it checks the start time again. Zombies are not in it: they run nothing.
 */

export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** When it was started, in the platform's own form: with the pid it names one process, for good. */
  readonly start: string;
  /** Marks of its environment, see `cookie.ts`; none where it cannot be read. */
  readonly cookies: readonly string[];
}

export class Snapshot {
  readonly #byPid = new Map<number, ProcessRow>();
  readonly #byGroup = new Map<number, ProcessRow[]>();
  readonly #byCookie = new Map<string, ProcessRow[]>();
  readonly #children = new Map<number, ProcessRow[]>();
  /**
   * Whether every process that was listed could be read. Where one had ended meanwhile, what it had started may be
   * missing: it was listed, and its child was not yet.
   */
  readonly isWhole: boolean;

  constructor(rows: Iterable<ProcessRow>, isWhole = true) {
    this.isWhole = isWhole;
    for (const row of rows) {
      this.#byPid.set(row.pid, row);
      add(this.#byGroup, row.group, row);
      add(this.#children, row.parent, row);
      for (const cookie of row.cookies) add(this.#byCookie, cookie, row);
    }
  }

  has(pid: number): boolean {
    return this.#byPid.has(pid);
  }

  /** The same process as in an earlier look, if it is still there. */
  again({ pid, start }: ProcessRow): ProcessRow | undefined {
    const row = this.#byPid.get(pid);
    return row?.start === start ? row : undefined;
  }

  group(group: number): readonly ProcessRow[] {
    return this.#byGroup.get(group) ?? [];
  }

  /**
   * All that belongs to `roots` or has the mark: their groups, and what they have started, and what those have.
   *
   * A group that has one of them in it is theirs: its number can be nobody else's while it has a member.
   */
  family(roots: readonly ProcessRow[], cookie: string): ProcessRow[] {
    const family = new Map<number, ProcessRow>();
    // Never this process, whatever a process table says.
    const groups = new Set([this.#byPid.get(process.pid)?.group]);
    const next = [...roots, ...(this.#byCookie.get(cookie) ?? [])];
    for (let row = next.pop(); row !== undefined; row = next.pop()) {
      if (row.pid === process.pid || family.has(row.pid)) continue;
      family.set(row.pid, row);
      next.push(...(this.#children.get(row.pid) ?? []));
      if (groups.has(row.group)) continue;
      groups.add(row.group);
      next.push(...(this.#byGroup.get(row.group) ?? []));
    }
    return [...family.values()];
  }
}

function add<Key>(map: Map<Key, ProcessRow[]>, key: Key, row: ProcessRow): void {
  const rows = map.get(key);
  if (rows === undefined) map.set(key, [row]);
  else rows.push(row);
}
