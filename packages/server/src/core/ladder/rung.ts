/**
 * A rung of the ladder: one way to end a call, and what every rung sees and needs.
 */
import { type Clock, LONGEST_TIMER_MS } from '../clock.ts';
import type { HandlerFact, WorkFact } from '../outcome.ts';
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
  /** Resolves when the handler has settled and no work is `unknown`. May never do so. */
  readonly quiet: Promise<void>;
}

export interface LadderOptions {
  readonly clock: Clock;
  /** ms between the signal and the first rung that forces. */
  readonly graceMs: number;
}

export interface Rung {
  readonly name: 'signal' | 'nested' | 'thread' | 'query';
  /** Resolves when this rung has done what it can; never rejects. The part before its first `await` runs at once. */
  climb(call: Climber, options: LadderOptions): Promise<void>;
}

export function hasEnded(call: Pick<Climber, 'handlerFact' | 'workFact'>): boolean {
  return call.handlerFact === 'settled' && call.workFact !== 'unknown';
}

/** Waits for `done`, at most `ms` and the longest timer; leaves no timer behind. */
export function within(clock: Clock, ms: number, done: Promise<void>): Promise<void> {
  if (ms === Infinity) return done;
  return new Promise((resolve) => {
    const timer = clock.setTimer(resolve, Math.min(ms, LONGEST_TIMER_MS));
    void done.then(() => {
      clock.clearTimer(timer);
      resolve();
    });
  });
}
