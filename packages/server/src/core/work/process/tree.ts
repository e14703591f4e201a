/**
 * A process and all that it starts, as work that a call owns.
 *
 * Ends all of it that leaves a trace: its group, what has its mark in the environment, what descends from one of these,
 * and the groups of those. To have looked and found nothing is evidence (`none-found`): a process that left the group,
 * lost its parent and cleared its environment is not seen. In a control group it is the kernel that says when the last
 * one has ended: that is proof (`ended`), unless something was seen to have left it. Before that the fact is `unknown`.
 *
 * Does not signal what is not of the tree: a group only while its number is held, and no pid without its start time.
 */
import type { ChildProcess } from 'node:child_process';
import type { WorkFact } from '../../outcome.ts';
import type { StopReason } from '../../reason.ts';
import type { ProcessWork } from '../work.ts';
import type { Cgroup } from './cgroup.ts';
import { look } from './look.ts';
import { unwatch, watch } from './reaper.ts';
import { groupExists, type KillSignal, sendToGroup, sendToGroups } from './send.ts';
import type { ProcessRow } from './snapshot.ts';
import { type StartOptions, start } from './start.ts';

/** ms between two looks at what is being ended: at first, and at most; each pause is half as long again. */
const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 1_000;
/** A look on a crowded machine takes long: the pause after it is at least so many times that. */
const PAUSE_FACTOR = 4;
/** So many looks in a row that find nothing count as one that is whole. */
const EMPTY_LOOKS = 3;

export interface ProcessTreeOptions extends StartOptions {
  /** Whether it hears of the stop of its call, and so is given the grace; see `onSignal`. Default: no. */
  readonly onSignal?: ((reason: StopReason) => void) | undefined;
}

export class ProcessTree implements ProcessWork {
  readonly kind = 'process';
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
  readonly #onSignal: ((reason: StopReason) => void) | undefined;
  readonly #cookie: string;
  readonly #cgroup: Cgroup | undefined;
  readonly #watched: string;
  #end = (): void => {};
  // Invariant: leaves `unknown` once; from then on nothing of the tree is looked for.
  #fact: WorkFact = 'unknown';
  // Invariant: while it is true, the number of the group is held: the first process is alive, or not waited for yet.
  #hasLeader = true;
  /** The group had other members when the first process had just gone: its number was still held. */
  #hadGroup = false;
  // Invariant: what the last look has shown of it; each with its start time.
  #known: readonly ProcessRow[] = [];
  #emptyLooks = 0;
  #hasLeftCgroup = false;
  /** The first look after the kill that found nothing, whatever the control group says. */
  readonly #swept: Promise<void>;
  #sweep = (): void => {};
  #isKilling = false;
  #pauseMs = FIRST_PAUSE_MS;
  #pausing: { readonly timer: NodeJS.Timeout; readonly wake: () => void } | undefined;
  #isLooking = false;

  /** Does not throw for a command that cannot be run: see `start`. */
  constructor(command: string, args: readonly string[], options: ProcessTreeOptions) {
    const started = start(command, args, options);
    const { child } = started;
    this.child = child;
    // What can be done about one that comes later is done all the same.
    child.on('error', () => {});
    this.#onSignal = options.onSignal;
    this.#cookie = started.cookie;
    this.#cgroup = started.cgroup;
    this.#watched = `${child.pid} ${started.start}`;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#swept = new Promise((resolve) => {
      this.#sweep = resolve;
    });
    if (child.pid === undefined) {
      child.once('error', () => this.#settle('ended'));
      return;
    }
    watch(this.#watched);
    child.once('exit', () => {
      this.#hasLeader = false;
      this.#hadGroup = groupExists(child.pid as number);
      if (!this.#isLooking) void this.#lookAfterLeader();
      this.#pausing?.wake();
    });
  }

  get fact(): WorkFact {
    return this.#fact;
  }

  get listens(): boolean {
    return this.#onSignal !== undefined;
  }

  get isContained(): boolean {
    return this.#cgroup !== undefined;
  }

  signal(reason: StopReason): void {
    // What loses its parent during the grace may not be found afterwards.
    void this.#see();
    this.#onSignal?.(reason);
  }

  async term(): Promise<void> {
    await this.#see();
    this.#send('SIGTERM');
    this.#keepLooking();
  }

  kill(): void {
    this.#send('SIGKILL');
    this.#keepLooking();
  }

  sweep(): Promise<void> {
    this.#isKilling = true;
    this.#keepLooking();
    return this.#swept;
  }

  killContained(): void {
    this.#cgroup?.kill();
    this.#keepLooking();
  }

  async end(): Promise<void> {
    this.kill();
    await this.sweep();
    this.killContained();
  }

  #send(signal: KillSignal): void {
    if (this.#fact !== 'unknown') return;
    if (this.#hasLeader) sendToGroup(this.child.pid as number, signal);
    sendToGroups(this.#known, signal, this.#hasLeader ? this.child.pid : undefined);
  }

  /** Looks until the tree has ended, at first often and then seldom; keeps no process alive by it. */
  #keepLooking(): void {
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#pausing?.wake();
    if (this.#isLooking || this.#fact !== 'unknown') return;
    this.#isLooking = true;
    void this.#lookOn();
  }

  async #lookOn(): Promise<void> {
    for (;;) {
      const began = performance.now();
      if (await this.#hasEnded()) return;
      if (this.#isKilling) this.#send('SIGKILL');
      await this.#pause(Math.max(this.#pauseMs, (performance.now() - began) * PAUSE_FACTOR));
      this.#pauseMs = Math.min(this.#pauseMs * 1.5, LONGEST_PAUSE_MS);
    }
  }

  /** What is left when it ends by itself belongs to the call, and may go on until that ends. */
  async #lookAfterLeader(): Promise<void> {
    do {
      if (await this.#hasEnded()) return;
    } while (!this.#isLooking && this.#emptyLooks > 0 && this.#emptyLooks < EMPTY_LOOKS);
  }

  /** A look, and what follows from it. */
  async #hasEnded(): Promise<boolean> {
    const wasEmpty = this.#cgroup?.isEmpty() === true;
    const rows = await this.#see();
    if (this.#fact !== 'unknown') return true;
    if (rows === undefined || this.#hasLeader) return false;
    if (rows.length > 0) {
      // The look came later: what it has shown cannot have been in there.
      if (wasEmpty) this.#hasLeftCgroup = true;
      return false;
    }
    if (this.#emptyLooks < EMPTY_LOOKS) return false;
    if (this.#isKilling) this.#sweep();
    if (this.#cgroup !== undefined && !this.#cgroup.isEmpty()) return false;
    this.#settle(this.#cgroup !== undefined && !this.#hasLeftCgroup ? 'ended' : 'none-found');
    return true;
  }

  /** @returns what is there of the tree now; `undefined` when it could not be looked */
  async #see(): Promise<readonly ProcessRow[] | undefined> {
    const snapshot = await look();
    if (this.#fact !== 'unknown' || snapshot === undefined) return undefined;
    const roots = this.#known.flatMap((row) => snapshot.again(row) ?? []);
    if (this.#hasLeader || this.#hadGroup) roots.push(...snapshot.group(this.child.pid as number));
    if (!this.#hasLeader) this.#hadGroup = false;
    this.#known = snapshot.family(roots, this.#cookie);
    this.#emptyLooks = this.#known.length > 0 ? 0 : snapshot.isWhole ? EMPTY_LOOKS : this.#emptyLooks + 1;
    return this.#known;
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(this.#pausing?.timer);
        this.#pausing = undefined;
        resolve();
      };
      this.#pausing = { timer: setTimeout(wake, ms).unref(), wake };
    });
  }

  #settle(fact: WorkFact): void {
    if (this.#fact !== 'unknown') return;
    this.#fact = fact;
    unwatch(this.#watched);
    this.#cgroup?.remove();
    this.#sweep();
    this.#end();
  }
}
