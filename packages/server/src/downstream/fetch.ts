/**
 * `@estop/server/fetch`: the platform's `fetch`, whose request ends with its call.
 *
 * When the call is stopped, the request is aborted at once, headers or body, with the call's `StopReason`, and the peer
 * sees its connection close. The link is there until the body has been read, cancelled or lost, or the call has ended.
 * Does not end what the peer does with the request: it may go on, and what it did stays done. So this is no work of the
 * call, and its outcome claims nothing of it. Does not end a request that outlives a handler which returned by itself.
 */
import { finished } from 'node:stream';
import { link, type Stoppable } from './link.ts';

type Fetch = typeof globalThis.fetch;

/**
 * @param call  a `Call`, or the context of a handler of `createMcpServer`
 * @param init  as the platform's; its `signal` (or that of a `Request`) goes on to count beside the call
 * @returns the platform's own response; rejects as the platform's, with the `StopReason` when the stop was first. After
 *   a stop, what reads the body rejects with the `StopReason` too; but `text()` and its like, when they are called only
 *   then, with the platform's `AbortError`
 */
export async function fetch(
  call: Stoppable,
  input: Parameters<Fetch>[0],
  init?: Parameters<Fetch>[1],
): Promise<Awaited<ReturnType<Fetch>>> {
  const controller = new AbortController();
  const unlink = link(call, signalOf(input, init), (reason) => controller.abort(reason));
  try {
    const response = await globalThis.fetch(input, { ...init, signal: controller.signal });
    if (response.body === null) unlink();
    // Hears of the end of a body without reading it, and without locking it. Its types know of Node's own streams only.
    else finished(response.body as unknown as NodeJS.ReadableStream, unlink);
    return response;
  } catch (error) {
    unlink();
    throw error;
  }
}

/** As the platform reads it: `undefined` leaves the request's own signal, `null` takes it away. */
function signalOf(input: Parameters<Fetch>[0], init: Parameters<Fetch>[1]): AbortSignal | null | undefined {
  return init?.signal === undefined && input instanceof Request ? input.signal : init?.signal;
}
