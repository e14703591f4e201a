/**
 * A stop is two facts: what became of the handler, and what became of the work.
 *
 * Neither follows from the other. Both speak only of what estop can know: a handler's promise, and work that was
 * started through estop. Work that a handler started by other means is nobody's claim here.
 */
import type { StopKind } from './reason.ts';

/** `settled`: the handler returned or threw. */
export type HandlerFact = 'settled' | 'running';

/**
 * `none`: nothing was started through estop, so nothing is claimed. `ended`: proven. `none-found`: looked for, and
 * nothing seen; evidence, no proof. `unknown`: it may go on.
 */
export type WorkFact = 'none' | 'ended' | 'none-found' | 'unknown';

export type CallState =
  | 'queued'
  | 'running'
  | 'completed'
  | 'failed'
  | 'stopping'
  | 'stopped'
  | 'abandoned'
  | 'refused';

export interface Outcome {
  readonly state: CallState;
  /** Absent while nobody has stopped the call. */
  readonly reason?: StopKind;
  readonly handler: HandlerFact;
  readonly work: WorkFact;
}

const WEAKEST_FIRST: readonly WorkFact[] = ['unknown', 'none-found', 'ended', 'none'];

/** The conjunction over everything that a call started: as weak as its weakest part. */
export function allOf(facts: Iterable<WorkFact>): WorkFact {
  let weakest: WorkFact = 'none';
  for (const fact of facts) {
    if (WEAKEST_FIRST.indexOf(fact) < WEAKEST_FIRST.indexOf(weakest)) weakest = fact;
  }
  return weakest;
}
