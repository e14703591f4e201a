/**
 * Something that a call started through estop, and that can outlast the call's handler.
 *
 * Each kind of work has a rung of the ladder that can end it, and says itself how its end is known.
 */
import type { WorkFact } from '../outcome.ts';
import type { StopReason } from '../reason.ts';

export interface Work {
  readonly kind: 'thread' | 'process' | 'query' | 'call';
  /** `unknown` from its start until its end is known; never better than what was seen. */
  readonly fact: WorkFact;
  /** Resolves, and never rejects, when `fact` is no longer `unknown`. May never do so. */
  readonly ended: Promise<void>;
  /** Whether `signal` reaches it: then it is given the grace to end by itself, also when the handler has settled. */
  readonly listens: boolean;
  /** Tells the work that its call was stopped. A request: it may not listen. Must not throw. */
  signal(reason: StopReason): void;
  /**
   * Ends it from outside, as far as its kind allows; `ended` says when that is done. Idempotent.
   *
   * @returns when all that can be tried has been; `undefined` where `ended` is all that there is to wait for
   */
  end(): Promise<void> | undefined;
}

/** Processes, which are ended by several rungs. None of these rejects. */
export interface ProcessWork extends Work {
  readonly kind: 'process';
  /** SIGTERM to its groups. */
  term(): Promise<void>;
  /** SIGKILL to its groups. */
  kill(): void;
  /**
   * SIGKILL to whatever of it is found, look after look.
   *
   * @returns when nothing is found any more; may never do so
   */
  sweep(): Promise<void>;
  /** Whether it is in a control group. */
  readonly isContained: boolean;
  /** SIGKILL to whatever is in its control group. */
  killContained(): void;
}

/** Of a call's works, those of a kind that may go on. */
export function goingOf(works: readonly Work[], kind: Work['kind']): readonly Work[] {
  return works.filter((work) => work.kind === kind && work.fact === 'unknown');
}

export function processesOf(works: readonly Work[]): readonly ProcessWork[] {
  return goingOf(works, 'process') as readonly ProcessWork[];
}
