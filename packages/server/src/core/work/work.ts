/**
 * Something that a call started through estop, and that can outlast the call's handler.
 *
 * Each kind of work has a rung of the ladder that can end it, and says itself how its end is known.
 */
import type { WorkFact } from '../outcome.ts';
import type { StopReason } from '../reason.ts';

export interface Work {
  readonly kind: 'thread' | 'call' | 'query';
  /** `unknown` from its start until its end is known; never better than what was seen. */
  readonly fact: WorkFact;
  /** Resolves, and never rejects, when `fact` is no longer `unknown`. May never do so. */
  readonly ended: Promise<void>;
  /** Tells the work that its call was stopped. A request: it may not listen. Must not throw. */
  signal(reason: StopReason): void;
  /**
   * Ends it from outside, as far as its kind allows; `ended` says when that is done. Idempotent.
   *
   * @returns when all that can be tried has been; `undefined` where `ended` is all that there is to wait for
   */
  end(): Promise<void> | undefined;
}
