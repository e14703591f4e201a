/**
 * One engine for a process, and the ways to put it around servers of the official SDK.
 */
import { type Call, cancelled, type EngineOptions, type RecordResult, type Stats } from './core/index.ts';
import { callOf } from './sdk/bind.ts';
import { contextOf } from './sdk/context.ts';
import type { HttpOptions } from './sdk/http/callers.ts';
import { type IsolatedHandler, type IsolatedOptions, isolated } from './sdk/isolated.ts';
import { callTool } from './sdk/nested.ts';
import { NO_OPTIONS, type ProtectOptions, protect } from './sdk/protect.ts';
import type { DeadlineOptions } from './sdk/rules.ts';
import type { ProtectableServer } from './sdk/shapes.ts';
import { Door, type FetchHandler } from './serve/http/door.ts';
import {
  type ExpressMiddleware,
  express,
  type FastifyHook,
  fastify,
  type HonoContext,
  type HonoMiddleware,
  hono,
} from './serve/http/middleware.ts';
import { type NodeHandler, nodeHandler } from './serve/http/node-handler.ts';
import type { HttpHandlerOptions, HttpServerFactory } from './serve/http/options.ts';
import { type ServerFactory, type ServeStdioOptions, type StdioServer, serveStdio } from './serve/stdio.ts';

/** `timeoutMs` is that of any protected server's calls, where nothing nearer says so; default: none. */
export interface EstopOptions extends EngineOptions, DeadlineOptions {
  /** What holds for clients over HTTP. */
  readonly http?: HttpOptions | undefined;
}

export interface Estop {
  /**
   * Protects a server of `@modelcontextprotocol/server` 2.x or `@modelcontextprotocol/sdk` 1.x: before or after its tools
   * are registered, connected or not. Its calls get deadlines, a cancel reaches them (also one right behind the call), and nothing of a cancelled
   * call is written afterwards. Calls that end normally are not changed.
   *
   * Does not stop a handler that ignores its signal: its caller is answered, it runs on, and counts as abandoned.
   *
   * @returns the same server
   * @throws TypeError when it is no such server or is protected already; RangeError for a bad timeout
   */
  protect<T extends ProtectableServer>(server: T, options?: ProtectOptions): T;
  /** The call of a handler's context: `remaining()`, `onStop()`, `throwIfStopped()` ... @throws when there is none */
  call(context: unknown): Call;
  /**
   * Calls another tool of the same server, from the context of a handler. The nested call ends with its caller: it is
   * stopped with the same reason, and none outlives the handler that made it. It runs on its caller's places in the
   * limits, and may enter a mutex that its caller holds.
   *
   * @returns the tool's result as the SDK makes it; rejects with the `StopReason` when either call is stopped
   */
  callTool(context: unknown, name: string, args?: unknown, options?: DeadlineOptions): Promise<unknown>;
  /** A handler for `registerTool` whose function runs in a thread, and is ended with it. See `IsolatedOptions`. */
  isolated(options: IsolatedOptions): IsolatedHandler;
  /**
   * Serves a factory's servers over stdio, protected, in both eras; exits the process when stdin ends. At SIGTERM and
   * SIGINT it stops every call as `shutdown`, and then the process ends by that signal, unless the program has a
   * listener of its own for it: then that decides, and may call `stop()`.
   */
  serveStdio(factory: ServerFactory, options?: ServeStdioOptions): Promise<StdioServer>;
  /**
   * Serves a factory's servers over HTTP, protected, on the web's `Request` and `Response`: with SDK v2 in both eras, with
   * v1 in the legacy era. Does not look at Host and Origin, and does not authenticate: put that before it.
   *
   * @throws TypeError or RangeError for an option that is none of its kind. Without an SDK every answer is a 500, of which
   *   `onerror` hears why
   */
  fetchHandler(factory: HttpServerFactory, options?: HttpHandlerOptions): FetchHandler;
  /** The same for `node:http`, Express (`app.all('/mcp', handler)`) and what else has Node's requests. */
  nodeHandler(factory: HttpServerFactory, options?: HttpHandlerOptions): NodeHandler;
  /**
   * Middleware for an Express app whose own routes connect `protect`ed servers, after the one that authenticates. What
   * it adds to `protect` alone: a DELETE of a session that estop minted stops its calls; and where the app hands the
   * SDK a web request, the client's address.
   */
  express(): ExpressMiddleware;
  /** The same for Fastify: a hook for `onRequest` or later. */
  fastify(): FastifyHook;
  /**
   * The same for Hono; and where an app hands the SDK a request without the signal of the one that came, a client that
   * hangs up is noticed.
   *
   * @param authInfo what the app's authentication found, where it keeps it
   */
  hono<C extends HonoContext = HonoContext>(authInfo?: (context: C) => unknown): HonoMiddleware<C>;
  /**
   * The program's own cancel: stops every live call with this key, or waits for the next one that has it, for 300 s
   * at most. For requests from the wire nothing is to be done: estop reads them.
   *
   * @param scope whose call, as `Call.scope` and the channels have it
   * @param why for people; at most 200 characters of it are kept
   */
  cancel(scope: string, requestId: unknown, why?: string): RecordResult;
  /** The operator's way out of a mutex or a limit that a call keeps: see `Call.release`. */
  release(call: Call): boolean;
  /** All calls in flight; a copy. */
  calls(): Call[];
  stats(): Stats;
  /**
   * Refuses the calls that come from now on, as `shutdown`, lets those in flight end by themselves for `drainMs`, and then
   * stops the rest. Closes no connection.
   *
   * @returns as `stop()`
   */
  close(): Promise<void>;
  /**
   * Stops every call as `shutdown`, and refuses those that come later. Closes no connection.
   *
   * @returns when the ladders are done, which is bounded; a handler that listens to nothing may still run
   */
  stop(): Promise<void>;
}

/** @throws RangeError for an option that is no number of its kind, or a bad `ESTOP_TOOL_TIMEOUT_MS` */
export function createEstop(options: EstopOptions = {}): Estop {
  const context = contextOf(options, 'createEstop()', Infinity);
  const { engine } = context;
  return {
    protect(server, protectOptions = NO_OPTIONS) {
      protect(server, protectOptions, context);
      return server;
    },
    call(handlerContext) {
      const call = callOf(handlerContext);
      if (call === undefined) {
        throw new TypeError('estop: call() takes the context of a handler on a protected server; this is none');
      }
      return call;
    },
    callTool: (handlerContext, name, args, callOptions = {}) => callTool(handlerContext, name, args, callOptions),
    isolated: (isolatedOptions) => isolated(isolatedOptions, engine),
    serveStdio: (factory, serveOptions = {}) => serveStdio(factory, serveOptions, context),
    fetchHandler(factory, handlerOptions = {}) {
      const { fetch, close, destroy } = new Door(factory, handlerOptions, context, 'fetchHandler()');
      return { fetch, close, destroy };
    },
    nodeHandler: (factory, handlerOptions = {}) => nodeHandler(factory, handlerOptions, context),
    express: () => express(context),
    fastify: () => fastify(context),
    hono: (authInfo) => hono(context, authInfo),
    cancel: (scope, requestId, why) => engine.registry.record(scope, requestId, cancelled('library', why)),
    release: (call) => call.release(),
    calls: () => engine.registry.calls(),
    stats: () => engine.stats(),
    async close() {
      await engine.drain();
      await engine.close();
    },
    stop: () => engine.close(),
  };
}
