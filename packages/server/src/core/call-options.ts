/**
 * What a call is made of, what it needs of the engine around it, and what its run may ask for.
 */
import type { Alarms } from './alarms.ts';
import type { Call } from './call.ts';
import type { Clock } from './clock.ts';
import type { CallState } from './outcome.ts';
import type { StopReason } from './reason.ts';
import type { Gate, Slots } from './slots/slots.ts';

export interface CallInit {
  /** Whose call it is, prefixed: `connection:1`. */
  readonly scope: string;
  /** As it came; an unusable one makes the call uncancellable over the wire, not unrunnable. */
  readonly id: unknown;
  readonly method: string;
  /** The tool's, prompt's or resource's name, where there is one. */
  readonly name: string | undefined;
  readonly owner?: Owner | undefined;
  /** The call that makes this one, see `nest`. */
  readonly parent?: Call | undefined;
}

/** What a call came through: a connection, a session, a server object. */
export interface Owner {
  /** Hears, once, that a call of its is over and out of the registry. */
  left(call: Call): void;
  /** True for good once it cannot deliver an answer any more; the janitor then removes the rows of its calls. */
  readonly isGone?: boolean;
}

/** What a call needs of the engine that it lives in. */
export interface CallHost {
  readonly clock: Clock;
  readonly alarms: Alarms;
  readonly graceMs: number;
  readonly termMs: number;
  /** Whether processes are put into a control group where one can be had. */
  readonly cgroups: boolean;
  readonly slots: Slots;
  /** Told of each change of state, after it. */
  moved(call: Call, from: CallState, to: CallState): void;
  /** Told once, when the handler has settled (or will never start) and the ladder is done. */
  left(call: Call): void;
}

export interface RunOptions<T = unknown> {
  /** ms from the handler's start; 0 and `Infinity`: no deadline. Time in the queue eats nothing of it. */
  readonly timeoutMs: number;
  /** Progress starts the deadline anew, see `progressed`. Default: it does not. */
  readonly resetTimeoutOnProgress?: boolean | undefined;
  /** ms beyond which progress extends no deadline; default: 10 times `timeoutMs`. */
  readonly maxTotalTimeoutMs?: number | undefined;
  /** A tool's limit, or a mutex, besides the limits for all. */
  readonly gate?: Gate | undefined;
  /** Makes the answer of a stopped call. Default: the promise of `run` rejects with the reason. */
  readonly answerStop?: ((call: Call, reason: StopReason) => T) | undefined;
}
