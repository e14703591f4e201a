/**
 * What a handler gets beside its arguments: its call, as far as it is a handler's business.
 *
 * Everything in it works taken out of it: `({ url }, { signal, throwIfStopped })`.
 */
import type {
  Call,
  CallContext,
  Child,
  LogLevel,
  Progress,
  SpawnOptions,
  StopListener,
  ThreadOptions,
} from '../core/index.ts';
import type { Question } from '../sdk/client.ts';

export interface ToolContext extends CallContext {
  /** The context itself, for code that was written against `extra.signal`. */
  readonly extra: ToolContext;
  /** The call itself, for what takes one: `query` of `@estop/server/pg`. */
  readonly call: Call;
  /**
   * Runs `listener` when the call is stopped, with the `StopReason`; at once when it has been. Never on normal
   * completion. Does not wait for what it returns.
   *
   * @returns takes the listener back
   */
  onStop(listener: StopListener): () => void;
  /**
   * Starts a command that belongs to this call: however the call ends, it is ended with it, with all that it has
   * started. Does not undo what it has done. See `Child` for its streams, its exit and its output.
   *
   * @throws the `StopReason` after a stop; TypeError, or an Error with a `code`, for a command that cannot be started
   */
  spawn(command: string, args?: readonly string[], options?: SpawnOptions): Child;
  /**
   * Runs a function in a thread that belongs to this call: however the call ends, it is ended with it. The function gets
   * `data` and a `CallContext`, in which there is no client to ask and no log. Need not be awaited.
   *
   * @param module a `URL` (`new URL('./work.js', import.meta.url)`), an absolute path, or a package's name
   * @param data must be cloneable, and so must what the function returns
   * @returns what the function returned; rejects with what it threw, or with the `StopReason`
   */
  thread(module: string | URL, data?: unknown, options?: ThreadOptions): Promise<unknown>;
  /**
   * Calls another tool of this server. The nested call ends with its caller: it is stopped with the same reason, and
   * none outlives the handler that made it. It runs on its caller's places in the limits, and may enter a mutex that
   * its caller holds. Need not be awaited: its rejection is handled.
   *
   * @returns what the other handler returned; rejects with what it threw, or with the `StopReason` of either call
   */
  callTool(name: string, args?: unknown, options?: NestedOptions): Promise<unknown>;
}

export interface NestedOptions {
  /** ms that this one call may run; before what tool and server say. The caller's own deadline holds too. */
  readonly timeoutMs?: number | undefined;
}

/** What the handler's end of a call needs of the façade around it. */
export interface ContextHost {
  /** Writes progress to the client, if there is one that asked. Never throws. */
  tell(progress: Progress): void;
  /** Writes to the client's log, if there is one. Never throws. */
  log(level: LogLevel, data: unknown, logger: string | undefined): void;
  /** Asks the client's user or model. Its rejection is handled. */
  ask(question: Question, params: object, options: object | undefined): Promise<unknown>;
  callTool(parent: Call, name: string, args: unknown, options: NestedOptions | undefined): Promise<unknown>;
}

export function contextOf(call: Call, host: ContextHost): ToolContext {
  const context: ToolContext = {
    get signal() {
      return call.signal;
    },
    get isCancelled() {
      return call.isCancelled;
    },
    get extra() {
      return context;
    },
    call,
    throwIfStopped: () => call.throwIfStopped(),
    remaining: () => call.remaining(),
    progress(progress) {
      // Neither after a stop nor after the answer.
      if (call.state !== 'running') return;
      // Whether anybody watches has no part in how long a handler may take.
      call.progressed();
      host.tell(progress);
    },
    log(level, data, logger) {
      if (call.state === 'running') host.log(level, data, logger);
    },
    elicitInput: (params, options) => host.ask('elicitInput', params, options) as never,
    requestSampling: (params, options) => host.ask('requestSampling', params, options) as never,
    onStop: (listener) => call.onStop(listener),
    spawn: (command, args, options) => call.spawn(command, args, options),
    thread: (module, data, options) => call.thread(module, data, options),
    callTool: (name, args, options) => host.callTool(call, name, args, options),
  };
  return context;
}
