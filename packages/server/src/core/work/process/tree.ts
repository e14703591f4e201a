/**
 * A process and all that it starts, as work that a call owns.
 *
 * Ends all of it that leaves a trace (see `Family`). To have looked and found nothing is evidence (`none-found`). In a
 * control group it is the kernel that says when the last one has ended: that is proof (`ended`), unless something was
 * seen to have left it. Before that the fact is `unknown`.
 */
import type { ChildProcess } from 'node:child_process';
import type { WorkFact } from '../../outcome.ts';
import type { StopReason } from '../../reason.ts';
import type { ProcessWork } from '../work.ts';
import type { Cgroup } from './cgroup.ts';
import { Family } from './family.ts';
import { unwatch, watch } from './reaper.ts';
import { type StartOptions, start } from './start.ts';

/** ms between two looks at what is being ended: at first, and at most; each pause is half as long again. */
const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 1_000;
/** A look on a crowded machine takes long: the pause after it is at least so many times that. */
const PAUSE_FACTOR = 4;

export interface TreeOptions extends StartOptions {
  /** Tells the process of the stop of its call; then it is given the grace. Default: it cannot be told. */
  readonly onSignal?: ((reason: StopReason) => void) | undefined;
}

export class ProcessTree implements ProcessWork {
  readonly kind = 'process';
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
  readonly #onSignal: ((reason: StopReason) => void) | undefined;
  readonly #family: Family;
  readonly #cgroup: Cgroup | undefined;
  readonly #watched: string;
  #end = (): void => {};
  // Invariant: leaves `unknown` once; from then on nothing of the tree is looked for, or signalled.
  #fact: WorkFact = 'unknown';
  #hasLeftCgroup = false;
  /** Resolves at the first look after the kill that found nothing, whatever the control group says. */
  readonly #swept: Promise<void>;
  #sweep = (): void => {};
  #isKilling = false;
  #isLooking = false;
  #pauseMs = FIRST_PAUSE_MS;
  #wake = (): void => {};

  /** Does not throw for a command that cannot be run: see `start`. */
  constructor(command: string, args: readonly string[], options: TreeOptions) {
    const started = start(command, args, options);
    const { child, cookie } = started;
    this.child = child;
    // What can be done about an error that comes later is done all the same.
    child.on('error', () => {});
    this.#onSignal = options.onSignal;
    this.#family = new Family(child.pid ?? 0, cookie);
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
      this.#family.leaderExited();
      if (!this.#isLooking) void this.#lookAfterLeader();
      this.#wake();
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
    this.#onSignal?.(reason);
    // What loses its parent during the grace may not be found afterwards. Where there is no grace, SIGTERM comes first.
    setImmediate(() => {
      if (!this.#isLooking && !this.#family.note()) void this.#family.see();
    });
  }

  async term(): Promise<void> {
    if (!this.#family.note()) await this.#family.see();
    this.#send('SIGTERM');
  }

  kill(): void {
    this.#family.note();
    this.#send('SIGKILL');
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

  #send(signal: 'SIGTERM' | 'SIGKILL'): void {
    if (this.#fact !== 'unknown') return;
    this.#family.send(signal);
    this.#keepLooking();
  }

  /** Looks until the tree has ended, at first often and then seldom; keeps no process alive by it. */
  #keepLooking(): void {
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#wake();
    if (this.#isLooking || this.#fact !== 'unknown') return;
    this.#isLooking = true;
    void this.#lookOn();
  }

  async #lookOn(): Promise<void> {
    for (;;) {
      const began = performance.now();
      if (await this.#hasEnded()) return;
      if (this.#isKilling) this.#family.send('SIGKILL');
      await this.#pause(Math.max(this.#pauseMs, (performance.now() - began) * PAUSE_FACTOR));
      this.#pauseMs = Math.min(this.#pauseMs * 1.5, LONGEST_PAUSE_MS);
    }
  }

  /** What is left when the first process ends by itself belongs to the call, and may go on until that ends. */
  async #lookAfterLeader(): Promise<void> {
    do {
      if (await this.#hasEnded()) return;
    } while (!this.#isLooking && this.#family.isDoubtful);
    // The kernel counts a process in its group for a moment after it is seen to have ended.
    if (this.#family.isGone) this.#keepLooking();
  }

  /** A look, and what follows from it. */
  async #hasEnded(): Promise<boolean> {
    const wasEmpty = this.#cgroup?.isEmpty() === true;
    const rows = await this.#family.see();
    if (this.#fact !== 'unknown') return true;
    // The look came later: what it has shown cannot have been in there.
    if (!this.#family.hasLeader && wasEmpty && rows !== undefined && rows.length > 0) this.#hasLeftCgroup = true;
    if (rows === undefined || !this.#family.isGone) return false;
    if (this.#isKilling) this.#sweep();
    if (this.#cgroup !== undefined && !this.#cgroup.isEmpty()) return false;
    this.#settle(this.#cgroup !== undefined && !this.#hasLeftCgroup ? 'ended' : 'none-found');
    return true;
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
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
