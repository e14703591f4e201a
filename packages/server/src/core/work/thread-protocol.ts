/**
 * What crosses between a call and its thread. A context cannot be cloned, so what crosses is named here.
 */
import type { Progress } from '../context.ts';
import type { CancelledBy, StopKind } from '../reason.ts';
import type { Crossed } from './crossing.ts';

/** Given to the thread at its start. */
export interface ThreadStart {
  /** What `import()` takes: a URL or a package's name. */
  readonly module: string;
  readonly export: string;
  readonly args: unknown;
  /** Names the call in errors: `tool "scrape"`. */
  readonly what: string;
  /**
   * One Int32: 0, or 1 + the stop's place in `STOP_KINDS`. In shared memory because a thread that spins reads no
   * message; a loop that asks `isCancelled` sees it all the same.
   */
  readonly stopFlag: SharedArrayBuffer;
  /** On the clock of `hrtimeMs()`, which all threads of a process share; `null` for none. */
  readonly deadlineAt: number | null;
}

export const STOP_KINDS: readonly StopKind[] = [
  'cancelled',
  'deadline',
  'disconnected',
  'shutdown',
  'killed',
  'overloaded',
];

export interface StopMessage {
  readonly type: 'stop';
  readonly kind: StopKind;
  readonly message: string;
  readonly by?: CancelledBy;
  readonly timeoutMs?: number;
}

export type FromThread =
  | { readonly type: 'progress'; readonly progress: Progress }
  | { readonly type: 'returned'; readonly value: unknown }
  | { readonly type: 'threw'; readonly error: Crossed };

/** A clock that every thread of a process agrees on; `performance.now()` counts from each thread's own start. */
export function hrtimeMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}
