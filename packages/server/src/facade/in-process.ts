/**
 * Calls of a server's tools by the program itself, and by the tools: without any SDK, through the same engine.
 *
 * So they have deadlines and places, wait for mutexes and are counted like calls that come over a wire. What the
 * handler returned is handed on as it is: no result is made of it, and it is not checked against `output`.
 */
import { type Call, cancelled, connectionScope, type Engine, heard, StopReason } from '../core/index.ts';
import { deadlineOf } from '../sdk/rules.ts';
import type { ContextHost, NestedOptions } from './context.ts';
import { validated } from './schema.ts';
import type { Tool } from './tool.ts';
import type { Tools } from './tools.ts';

export interface InProcessOptions extends NestedOptions {
  /**
   * Stops the call when it aborts, as `fetch` does: the promise rejects with this signal's own `reason`. The handler's
   * signal has a `StopReason` of the kind `cancelled`, with that reason as its `cause`.
   */
  readonly signal?: AbortSignal | undefined;
}

export class InProcess {
  readonly #tools: Tools;
  readonly #engine: Engine;
  // Nobody else's: no cancel from a wire names a call of the program.
  readonly #scope = connectionScope();
  /** For a call that no client watches. */
  readonly #unwatched: ContextHost;

  constructor(tools: Tools, engine: Engine) {
    this.#tools = tools;
    this.#engine = engine;
    this.#unwatched = { tell() {}, log() {}, ask: nobody, callTool: this.nested };
  }

  async call(name: string, args: unknown, { timeoutMs, signal }: InProcessOptions): Promise<unknown> {
    const tool = this.#tools.get(name);
    const rule = ruleOf(tool, timeoutMs);
    checkSignal(signal);
    const call = this.#engine.begin({ scope: this.#scope, id: undefined, method: 'tools/call', name });
    const link = signal && linkTo(signal, call);
    try {
      return await call.run(() => this.#handle(tool, call, args), rule);
    } catch (error) {
      throw link !== undefined && error === link.reason ? signal?.reason : error;
    } finally {
      link?.unlink();
    }
  }

  /** A call that `parent` makes, see `ToolContext.callTool`. */
  readonly nested: ContextHost['callTool'] = (parent, name, args, options) => {
    const start = async (): Promise<unknown> => {
      const tool = this.#tools.get(name);
      const rule = ruleOf(tool, options?.timeoutMs);
      const call = this.#engine.nest(parent, { method: 'tools/call', name });
      return call.run(() => this.#handle(tool, call, args), rule);
    };
    return heard(start());
  };

  async #handle(tool: Tool, call: Call, args: unknown): Promise<unknown> {
    return tool.handle(call, await validated(tool.input, args ?? {}, tool.what), this.#unwatched);
  }
}

function nobody(question: string): Promise<never> {
  return heard(Promise.reject(new Error(`estop: ${question}(): a call in process has no client to ask`)));
}

function ruleOf({ name, rule }: Tool, timeoutMs: number | undefined) {
  // Nobody is answered by a result here: the promise rejects.
  return { ...deadlineOf({ timeoutMs }, `callTool(${JSON.stringify(name)}): `, rule), answerStop: undefined };
}

function checkSignal(signal: unknown): void {
  if (signal === undefined || typeof (signal as Partial<AbortSignal> | null)?.addEventListener === 'function') return;
  throw new TypeError('estop: callTool(): signal must be an AbortSignal');
}

interface Link {
  /** With which the call was stopped because the signal aborted; `undefined` while it has not. */
  readonly reason: StopReason | undefined;
  unlink(): void;
}

function linkTo(signal: AbortSignal, call: Call): Link {
  let reason: StopReason | undefined;
  const abort = (): void => {
    reason = reasonFor(signal.reason);
    call.stop(reason);
  };
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return {
    get reason() {
      return reason;
    },
    unlink: () => signal.removeEventListener('abort', abort),
  };
}

/** A call made with another call's signal is stopped for the same reason as that one. */
function reasonFor(given: unknown): StopReason {
  if (given instanceof StopReason) return given;
  const reason = cancelled('library', given instanceof Error ? given.message : given);
  reason.cause = given;
  return reason;
}
