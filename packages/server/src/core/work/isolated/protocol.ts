/**
 * What crosses between a call and the thread or the process that runs a function for it. A context cannot be cloned, so
 * what crosses is named here.
 */
import type { Progress } from '../../context.ts';
import type { CancelledBy, StopKind, StopReason } from '../../reason.ts';
import type { Crossed } from './crossing.ts';

/** Given to a thread at its start. */
export interface ThreadStart {
  /** What `import()` takes: a URL or a package's name. */
  readonly module: string;
  /** `null` for one that is started ahead: its function comes by a message. */
  readonly run: RunMessage | null;
  /**
   * One Int32: 0, or 1 + the stop's place in `STOP_KINDS`. In shared memory because a thread that spins reads no
   * message; a loop that asks `isCancelled` sees it all the same.
   */
  readonly stopFlag: SharedArrayBuffer;
}

/** Where a process has its stop flag: a file whose first byte, when there is one, is what a thread's Int32 is. */
export const FLAG_DESCRIPTOR = 5;
/** In the environment of a process that has one. */
export const FLAG_VARIABLE = 'ESTOP_STOP_FLAG';

export const STOP_KINDS: readonly StopKind[] = [
  'cancelled',
  'deadline',
  'disconnected',
  'shutdown',
  'killed',
  'overloaded',
];

/** The one function that it runs. */
export interface RunMessage {
  readonly type: 'run';
  readonly export: string;
  readonly args: unknown;
  /** Members of its context, as the call's side has them; core gives them no meaning. */
  readonly given: object;
  /** Names the call in errors: `tool "scrape"`. */
  readonly what: string;
  readonly deadlineAt: DeadlineAt;
}

/** On the clock of `hrtimeMs()`; `null` for none. */
export type DeadlineAt = number | null;

export interface StopMessage {
  readonly type: 'stop';
  readonly kind: StopKind;
  readonly message: string;
  readonly by?: CancelledBy;
  readonly timeoutMs?: number;
}

export function stopMessage({ kind, message, by, timeoutMs }: StopReason): StopMessage {
  return { type: 'stop', kind, message, ...(by && { by }), ...(timeoutMs !== undefined && { timeoutMs }) };
}

/** The stop as the flag has it. */
export function stopNumber({ kind }: StopReason): number {
  return STOP_KINDS.indexOf(kind) + 1;
}

/** What became of an `ask`; with the deadline anew, which may have stood still meanwhile. */
type AnswerMessage =
  | { readonly type: 'answered'; readonly id: number; readonly value: unknown; readonly deadlineAt: DeadlineAt }
  | { readonly type: 'rejected'; readonly id: number; readonly error: Crossed; readonly deadlineAt: DeadlineAt };

export type ToIsolated = RunMessage | StopMessage | AnswerMessage;

export type FromIsolated =
  /** The module is imported; or it could not be, and a call that is given to it all the same gets the error. */
  | { readonly type: 'ready' }
  | { readonly type: 'unfit' }
  | { readonly type: 'progress'; readonly progress: Progress }
  /** For whoever is at the other side; core gives neither a meaning. An `ask` is answered, and may be taken back. */
  | { readonly type: 'told'; readonly what: string; readonly args: readonly unknown[] }
  | { readonly type: 'ask'; readonly id: number; readonly what: string; readonly args: readonly unknown[] }
  | { readonly type: 'taken-back'; readonly id: number; readonly reason: Crossed }
  | { readonly type: 'returned'; readonly value: unknown }
  | { readonly type: 'threw'; readonly error: Crossed };

/** A clock that all threads and processes of a machine agree on; `performance.now()` counts from each one's start. */
export function hrtimeMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}
