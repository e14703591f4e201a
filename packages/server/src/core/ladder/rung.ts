/**
 * A rung of the ladder: one way to end a call, and what every rung sees and needs.
 */
import { type Clock, LONGEST_TIMER_MS } from '../clock.ts';
import type { HandlerFact, RungName, WorkFact } from '../outcome.ts';
import type { StopReason } from '../reason.ts';
import type { Work } from '../work/work.ts';

/** What the ladder sees of a call. */
export interface Climber {
  readonly reason: StopReason | undefined;
  readonly handlerFact: HandlerFact;
  readonly workFact: WorkFact;
  readonly works: readonly Work[];
  /** Fires the signal of the call; synchronous, once. */
  fire(): void;
  /** Hears which rung is tried now. */
  climbing(rung: RungName): void;
  /** Hears that it has done what it can. */
  climbed(rung: RungName): void;
  /** Resolves as soon as `holds` is true; it is asked again when the handler settles, and when a work ends. */
  until(holds: (call: Climber) => boolean): Promise<void>;
}

export interface LadderOptions {
  readonly clock: Clock;
  /** ms between the signal and the first rung that forces. */
  readonly graceMs: number;
  /** ms between SIGTERM and SIGKILL. */
  readonly termMs: number;
}

export interface Rung {
  readonly name: RungName;
  /** Whether there is something that this rung can end. */
  isFor(call: Climber): boolean;
  /** Resolves when this rung has done what it can; never rejects. The part before its first `await` runs at once. */
  climb(call: Climber, options: LadderOptions): Promise<void>;
}

export function hasEnded(call: Pick<Climber, 'handlerFact' | 'workFact'>): boolean {
  return call.handlerFact === 'settled' && call.workFact !== 'unknown';
}

/** Waits for `done`, at most `ms` and the longest timer; leaves no timer behind. */
export function within(clock: Clock, ms: number, done: Promise<unknown>): Promise<void> {
  if (ms === Infinity) return done.then(() => {});
  return new Promise((resolve) => {
    const timer = clock.setTimer(resolve, Math.min(ms, LONGEST_TIMER_MS));
    void done.then(() => {
      clock.clearTimer(timer);
      resolve();
    });
  });
}

/** Waits until all of these have ended, at most `ms`; and for whoever in the handler waits for them. */
export async function endWithin(clock: Clock, ms: number, works: readonly Work[]): Promise<void> {
  await within(clock, ms, Promise.all(works.map(({ ended }) => ended)));
  // The handler settles a chain of promises behind the end of what it waits for: let that chain run out.
  await new Promise(setImmediate);
}
