/**
 * `@estop/server/undici`: an interceptor for undici (7.x), whose requests end with their call.
 *
 * Whatever goes through the composed dispatcher (`request`, `stream`, `pipeline`, `fetch`) is aborted at once when the
 * call is stopped, with the call's `StopReason`; one that waits for a connection is given up, and never sent. undici's
 * `fetch` rejects with "fetch failed", as on every error of a dispatcher, and has the `StopReason` among its causes.
 * Does not end what the peer does with a request: it may go on, and what it did stays done. So this is no work of the
 * call. Does not follow a socket that was handed over (`connect`, `upgrade`), nor a request that outlives a handler
 * which returned by itself.
 */
import type { StopReason } from '../core/index.ts';
import { link, type Stoppable } from './link.ts';

/** Any interceptor of `compose`, by its shape alone: undici's types are not needed to compile this. */
export type Interceptor = <Dispatch extends (options: never, handler: never) => boolean>(
  dispatch: Dispatch,
) => Dispatch;

/**
 * `agent.compose(stoppedBy(call))`: a dispatcher on the same connections, for this call alone.
 *
 * A composed dispatcher is cheap: make one for each call. Put it first, inside of what tries again: then nothing is
 * tried again after the stop.
 *
 * @param call  a `Call`, or the context of a handler of `createMcpServer`
 */
export function stoppedBy(call: Stoppable): Interceptor {
  return (dispatch) => {
    const send = dispatch as unknown as (options: unknown, handler: Handler) => boolean;
    const sendLinked = (options: unknown, handler: Handler): boolean => {
      const linked = new LinkedHandler(call, handler);
      // `true`: the dispatcher has room for more.
      return linked.isOver || send(options, linked);
    };
    return sendLinked as unknown as typeof dispatch;
  };
}

interface Controller {
  readonly aborted: boolean;
  readonly paused: boolean;
  readonly reason: Error | null;
  abort(reason: Error): void;
  pause(): void;
  resume(): void;
}

interface Handler {
  onRequestStart?(controller: Controller, context: unknown): void;
  onRequestUpgrade?(controller: Controller, statusCode: number, headers: unknown, socket: unknown): void;
  onResponseStart?(controller: Controller, statusCode: number, headers: unknown, statusMessage?: string): void;
  onResponseData?(controller: Controller, chunk: Buffer): void;
  onResponseEnd?(controller: Controller, trailers: unknown): void;
  onResponseError?(controller: Controller, error: Error): void;
}

class LinkedHandler implements Handler {
  readonly #inner: Handler;
  #unlink: (() => void) | undefined;
  #controller: Controller | undefined;
  #reason: StopReason | undefined;
  // Invariant: once true, the inner handler hears nothing any more: it has had its end, or its error.
  #isOver = false;

  constructor(call: Stoppable, inner: Handler) {
    this.#inner = inner;
    this.#unlink = link(call, undefined, (reason) => this.#stop(reason as StopReason));
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** More than once for a request that is tried again. */
  onRequestStart(controller: Controller, context: unknown): void {
    if (!this.#isLive(controller)) return;
    this.#controller = controller;
    this.#inner.onRequestStart?.(controller, context);
  }

  onRequestUpgrade(controller: Controller, statusCode: number, headers: unknown, socket: unknown): void {
    if (this.#end()) this.#inner.onRequestUpgrade?.(controller, statusCode, headers, socket);
  }

  onResponseStart(controller: Controller, statusCode: number, headers: unknown, statusMessage?: string): void {
    if (this.#isLive(controller)) this.#inner.onResponseStart?.(controller, statusCode, headers, statusMessage);
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#isLive(controller)) this.#inner.onResponseData?.(controller, chunk);
  }

  onResponseEnd(controller: Controller, trailers: unknown): void {
    if (this.#end()) this.#inner.onResponseEnd?.(controller, trailers);
  }

  onResponseError(controller: Controller, error: Error): void {
    if (this.#end()) this.#inner.onResponseError?.(controller, error);
  }

  /** The request's end below may come late (it waits for a connection, or to be tried again): the error does not. */
  #stop(reason: StopReason): void {
    if (!this.#end()) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.#inner.onResponseError?.(this.#controller ?? stoppedBefore(reason), reason);
  }

  /** What waited for a connection when the stop came, or was to be tried again, may be sent after all: it ends here. */
  #isLive(controller: Controller): boolean {
    if (this.#reason !== undefined) controller.abort(this.#reason);
    return !this.#isOver;
  }

  /** @returns whether it was this that ended it */
  #end(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#unlink?.();
    return true;
  }
}

/** What a handler sees of a request that was never sent. */
function stoppedBefore(reason: StopReason): Controller {
  const nothing = (): void => {};
  return { aborted: true, paused: false, reason, abort: nothing, pause: nothing, resume: nothing };
}
