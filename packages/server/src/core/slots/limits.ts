/**
 * How many calls may run and wait: the limits, their defaults, and which values are good.
 */
import { checkCount, checkMs } from '../checks.ts';

export interface SlotLimits {
  /** Calls that run at once in this process; default `Infinity`. Nested calls run on their root's place. */
  readonly maxConcurrency?: number | undefined;
  /** The same, for each scope; default `Infinity`. */
  readonly maxConcurrencyPerScope?: number | undefined;
  /** Calls that wait, of all scopes; default 1 000. 0: none waits. */
  readonly maxQueue?: number | undefined;
  /** How long a call may wait, in ms; default 30 000. `Infinity`: no limit. 0: none waits. */
  readonly queueTimeoutMs?: number | undefined;
  /** Calls that were answered and run on, whose places pass on; default `maxConcurrency`, at least 10; 100 without it. */
  readonly maxAbandoned?: number | undefined;
}

export type CheckedLimits = { readonly [Name in keyof SlotLimits]-?: number };

const DEFAULT_MAX_QUEUE = 1_000;
const DEFAULT_QUEUE_TIMEOUT_MS = 30_000;
const LEAST_DEFAULT_MAX_ABANDONED = 10;
const MAX_ABANDONED_WITHOUT_A_LIMIT = 100;

/** @throws RangeError for a value that is none, naming it */
export function checkLimits({
  maxConcurrency = Infinity,
  maxConcurrencyPerScope = Infinity,
  maxQueue = DEFAULT_MAX_QUEUE,
  queueTimeoutMs = DEFAULT_QUEUE_TIMEOUT_MS,
  maxAbandoned = defaultMaxAbandoned(maxConcurrency),
}: SlotLimits): CheckedLimits {
  return {
    maxConcurrency: checkCount(maxConcurrency, 'maxConcurrency', 1),
    maxConcurrencyPerScope: checkCount(maxConcurrencyPerScope, 'maxConcurrencyPerScope', 1),
    maxQueue: checkCount(maxQueue, 'maxQueue', 0),
    queueTimeoutMs: checkMs(queueTimeoutMs, 'queueTimeoutMs'),
    maxAbandoned: checkCount(maxAbandoned, 'maxAbandoned', 1),
  };
}

function defaultMaxAbandoned(maxConcurrency: number): number {
  if (maxConcurrency === Infinity) return MAX_ABANDONED_WITHOUT_A_LIMIT;
  return Math.max(LEAST_DEFAULT_MAX_ABANDONED, maxConcurrency);
}
