/**
 * What a handler asks of a legacy client in the midst of its call: elicitation, sampling, roots.
 *
 * Ends with the call: the client is told that its request is cancelled, and the handler's wait rejects with the reason,
 * already handled. While a user is being asked the call's deadline stands still.
 * Does not see what a handler asks past its context, such as by the server object.
 */
import { type Call, heard, type StopReason } from '../core/index.ts';
import type { Method } from './shapes.ts';

type Options = { readonly signal?: AbortSignal } | undefined;

/** @param asksUser whether the deadline stands still meanwhile */
export function ask(call: Call, method: Method, args: unknown[], asksUser: boolean): Promise<unknown> {
  if (call.reason !== undefined) return heard(Promise.reject(call.reason));
  const controller = new AbortController();
  const at = optionsAt(args);
  const given = args[at] as Options;
  const unlink = link(given?.signal, controller);
  const withSignal = [...args.slice(0, at), { ...given, signal: controller.signal }];
  if (asksUser) call.pause();
  return heard(
    new Promise((resolve, reject) => {
      const takeBack = call.onStop((reason: StopReason) => {
        controller.abort(reason);
        reject(reason);
      });
      invoke(method, withSignal)
        .finally(() => {
          unlink();
          takeBack();
          if (asksUser) call.resume();
        })
        .then(resolve, reject);
    }),
  );
}

/** `send` may have a schema before its options, and v1's `sendRequest` has one: told by what all Standard Schemas have. */
function optionsAt(args: unknown[]): number {
  const second = args[1] as { '~standard'?: unknown } | undefined;
  return second?.['~standard'] === undefined ? 1 : 2;
}

function link(from: AbortSignal | undefined, to: AbortController): () => void {
  if (from === undefined) return () => {};
  const abort = (): void => to.abort(from.reason);
  if (from.aborted) abort();
  from.addEventListener('abort', abort, { once: true });
  return () => from.removeEventListener('abort', abort);
}

async function invoke(method: Method, args: unknown[]): Promise<unknown> {
  return method(...(args as never[]));
}
