/**
 * What crosses between a call and its thread. A context cannot be cloned, so what crosses is named here.
 */
import type { Progress } from '../context.ts';
import type { CancelledBy, StopKind } from '../reason.ts';

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
  | { readonly type: 'threw'; readonly error: CrossedError };

/** An error taken apart: a structured clone of an SDK's error loses its class, code and data. */
export interface CrossedError {
  readonly isError: boolean;
  readonly name?: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: unknown;
  readonly data?: unknown;
  /** What was thrown, when that was no `Error`. */
  readonly value?: unknown;
}

/** A clock that every thread of a process agrees on; `performance.now()` counts from each thread's own start. */
export function hrtimeMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

export function takeApart(error: unknown): CrossedError {
  if (!(error instanceof Error)) return { isError: false, message: String(error), value: cloneable(error) };
  const { code, data } = error as { code?: unknown; data?: unknown };
  return {
    isError: true,
    name: error.name,
    message: error.message,
    ...(error.stack !== undefined && { stack: error.stack }),
    ...(code !== undefined && { code: cloneable(code) }),
    ...(data !== undefined && { data: cloneable(data) }),
  };
}

/** An `Error` with the name, message, stack, code and data of the one that was thrown; not of its class. */
export function putTogether(crossed: CrossedError): unknown {
  if (!crossed.isError) return crossed.value;
  const error = new Error(crossed.message);
  if (crossed.stack !== undefined) error.stack = crossed.stack;
  return Object.assign(
    error,
    crossed.name !== undefined && crossed.name !== 'Error' && { name: crossed.name },
    crossed.code !== undefined && { code: crossed.code },
    crossed.data !== undefined && { data: crossed.data },
  );
}

function cloneable(value: unknown): unknown {
  try {
    return structuredClone(value);
  } catch {
    return String(value);
  }
}
