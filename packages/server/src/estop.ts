/**
 * One engine for a process, and the ways to put it around servers of the official SDK.
 */
import {
  type Call,
  checkTimeout,
  Engine,
  type EngineOptions,
  firstGiven,
  type Stats,
  timeoutFromEnvironment,
} from './core/index.ts';
import { callOf } from './sdk/bind.ts';
import { type IsolatedHandler, type IsolatedOptions, isolated } from './sdk/isolated.ts';
import { type ProtectContext, type ProtectOptions, protect } from './sdk/protect.ts';
import type { ProtectableServer } from './sdk/shapes.ts';
import { type ServerFactory, type ServeStdioOptions, type StdioServer, serveStdio } from './serve/stdio.ts';

export interface EstopOptions extends EngineOptions {
  /** ms that a call of any protected server may run, where nothing nearer says so; default: none. */
  readonly timeoutMs?: number;
}

export interface Estop {
  /**
   * Protects a server of `@modelcontextprotocol/server` 2.x: before or after its tools are registered, connected or
   * not. Its calls get deadlines, a cancel reaches them (also one right behind the call), and nothing of a cancelled
   * call is written afterwards. Calls that end normally are not changed.
   *
   * Does not stop a handler that ignores its signal: its caller is answered, it runs on, and counts as abandoned.
   *
   * @returns the same server
   * @throws TypeError when it is no such server or is protected already; RangeError for a bad timeout
   */
  protect<T extends ProtectableServer>(server: T, options?: ProtectOptions): T;
  /** The call of a handler's context, for `remaining()`, `isCancelled`, `throwIfStopped()`. @throws when there is none */
  call(context: unknown): Call;
  /** A handler for `registerTool` whose function runs in a thread, and is ended with it. See `IsolatedOptions`. */
  isolated(options: IsolatedOptions): IsolatedHandler;
  /** Serves a factory's servers over stdio, protected, in both eras; exits the process when stdin ends. */
  serveStdio(factory: ServerFactory, options?: ServeStdioOptions): Promise<StdioServer>;
  stats(): Stats;
}

/** @throws RangeError for a bad `timeoutMs`, `graceMs` or `ESTOP_TOOL_TIMEOUT_MS` */
export function createEstop(options: EstopOptions = {}): Estop {
  const engine = new Engine(options);
  const given =
    options.timeoutMs === undefined ? undefined : checkTimeout(options.timeoutMs, 'createEstop(): timeoutMs');
  const context: ProtectContext = {
    engine,
    timeoutMs: firstGiven(given, timeoutFromEnvironment(process.env)),
    connections: new WeakMap(),
  };
  return {
    protect(server, protectOptions = {}) {
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
    isolated,
    serveStdio: (factory, serveOptions = {}) => serveStdio(factory, serveOptions, context),
    stats: () => engine.stats(),
  };
}
