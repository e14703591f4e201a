/**
 * A stop is two facts: what became of the handler, and what became of the work.
 *
 * Neither follows from the other. Both speak only of what estop can know: a handler's promise, and work that was
 * started through estop. Work that a handler started by other means is nobody's claim here.
 */
import type { CancelledBy, StopKind } from './reason.ts';

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

/**
 * The ladder's rungs, in order. `signal` asks; `nested` waits for the ladders of nested calls; `thread` terminates
 * threads; `query` has databases told once more; `term` and `kill` signal the groups of processes, `sweep` ends those
 * that left them, and `cgroup` is the kernel's own kill, where there is a control group.
 */
export type RungName = 'signal' | 'nested' | 'thread' | 'query' | 'term' | 'kill' | 'sweep' | 'cgroup';

/** What is known of a call at the moment of asking; it changes until the call has left. */
export interface Outcome {
  readonly state: CallState;
  /** Absent while nobody has stopped the call; so are all that follow from a stop. */
  readonly reason?: StopKind;
  /** Only of `cancelled`. */
  readonly by?: CancelledBy;
  readonly handler: HandlerFact;
  readonly work: WorkFact;
  /** The rung of the ladder that is being tried, or was the last one; absent while none was. Also of a call that ended well and left work behind. */
  readonly rung?: RungName;
  /** ms from the signal to the handler's end; absent when it had ended before, or has not yet. */
  readonly signalToSettledMs?: number;
  /** ms from the signal to the proof that the work ended; absent without proof (`none`, `none-found`, `unknown`). */
  readonly signalToProofMs?: number;
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
