/**
 * From a call's stop, and from the author's own signal, to one abort; and its undoing.
 *
 * By hand and not by `AbortSignal.any()`: that one keeps what it made for as long as a long-lived signal lives.
 * Does not know when whatever it aborts is over: whoever links unlinks.
 */
import { setMaxListeners } from 'node:events';
import type { Call } from '../core/index.ts';

/** What can be stopped: a `Call`, and the context of a handler of `createMcpServer`. */
export type Stoppable = Pick<Call, 'onStop'>;

/** Node warns at the eleventh listener; that many requests under one signal are no leak. */
const NO_LISTENER_LIMIT = 0;

/**
 * Runs `abort` when `call` is stopped or `signal` fires, with the reason of that one; at once when that was before.
 *
 * @returns takes both links back; idempotent
 */
export function link(
  call: Stoppable,
  signal: AbortSignal | null | undefined,
  abort: (reason: unknown) => void,
): () => void {
  const takeBack = call.onStop((reason) => abort(reason));
  if (!signal) return takeBack;
  const onAbort = (): void => abort(signal.reason);
  if (signal.aborted) onAbort();
  else {
    setMaxListeners(NO_LISTENER_LIMIT, signal);
    signal.addEventListener('abort', onAbort, { once: true });
  }
  return () => {
    takeBack();
    signal.removeEventListener('abort', onAbort);
  };
}
