/**
 * A server in one object: its tools, how long each may run, how many run at once, and what stops them.
 *
 * Thin: what it serves is a server of the official SDK with `protect` around it, and its calls are the engine's. Does
 * not make a handler listen: one that ignores its signal is answered for at its deadline, and runs on as abandoned.
 */
import { checkTimeout, type EngineOptions, type Stats, show } from '../core/index.ts';
import { answerStop } from '../sdk/answer.ts';
import { contextOf, type ProtectContext } from '../sdk/context.ts';
import { protect } from '../sdk/protect.ts';
import type { DeadlineOptions } from '../sdk/rules.ts';
import { type StdioServer, serveStdio } from '../serve/stdio.ts';
import { entryV2 } from '../serve/stdio-v2.ts';
import { InProcess, type InProcessOptions } from './in-process.ts';
import type { ToolSchema } from './schema.ts';
import { loadSdk, register, type SdkServer, type ServerInfo, sdkServer } from './sdk-server.ts';
import type { ToolDefinition } from './tool.ts';
import { Tools } from './tools.ts';

export interface McpServerOptions
  extends Omit<EngineOptions, 'recorded' | 'cleanupMs'>,
    Omit<DeadlineOptions, 'timeoutMs'> {
  /** What clients are told the server is called. */
  readonly name: string;
  /** Default `0.0.0`. */
  readonly version?: string | undefined;
  /** ms that any tool's call may run, where nothing nearer says so; default 50 000, under the 60 s of SDK clients. */
  readonly toolTimeoutMs?: number | undefined;
  /** For the model: how the server is to be used. */
  readonly instructions?: string | undefined;
}

export interface ServeOptions {
  /** The process's stdio, which is the default; or an SDK transport, such as one in memory. */
  readonly transport?: 'stdio' | object | undefined;
  /** Hears of errors that concern no call. */
  readonly onerror?: ((error: Error) => void) | undefined;
}

export interface McpApp {
  /**
   * Adds a tool, also while the server is being served: clients are then told that the list has changed.
   *
   * @returns the same server, for the next one
   * @throws TypeError or RangeError at once for what is wrong with it, naming the tool
   */
  tool<Input extends ToolSchema | undefined = undefined>(definition: ToolDefinition<Input>): McpApp;
  /**
   * Calls a tool in this process, without a client and without the SDK: the arguments are checked against `input`, and
   * deadlines and limits hold. All such calls are one client to `maxConcurrencyPerScope`.
   *
   * Does not wait for a handler that was stopped: it may run on, as `stats()` shows. Does not know which handler it is
   * called from: there `context.callTool` is the one that ends with its caller and needs no room of its own.
   *
   * @returns what the handler returned; rejects with what it threw, with the `StopReason` when the call was stopped (at
   *   its deadline, say), or with `options.signal.reason` when that signal stopped it: aborted already, the handler is
   *   never started
   */
  callTool(name: string, args?: unknown, options?: InProcessOptions): Promise<unknown>;
  /**
   * Serves the tools over stdio, to clients of both eras; the process exits when stdin ends, and at SIGTERM and SIGINT
   * ends by that signal when its calls have been stopped, unless the program listens for it itself. Or over a transport
   * of the SDK, once for each; then the process never exits by itself.
   *
   * @throws (rejects with) an Error without `@modelcontextprotocol/server`, or after `stop()`; TypeError for no transport
   */
  serve(options?: ServeOptions): Promise<StdioServer>;
  /**
   * Stops every call as `shutdown`, answers their clients, refuses what comes later and closes all that is served.
   * Does not exit the process, nor end a handler that does not listen.
   *
   * @returns when the ladders are done, which is bounded
   */
  stop(): Promise<void>;
  stats(): Stats;
}

/** @throws TypeError or RangeError for an option that is none of its kind, or a bad `ESTOP_TOOL_TIMEOUT_MS` */
export function createMcpServer(options: McpServerOptions): McpApp {
  return new Facade(options);
}

const WHERE = 'createMcpServer()';
const DEFAULT_TIMEOUT_MS = 50_000;

class Facade implements McpApp {
  readonly #info: ServerInfo;
  readonly #context: ProtectContext;
  readonly #tools: Tools;
  readonly #inProcess: InProcess;
  // Invariant: has each tool, while it is not closed.
  readonly #servers = new Set<SdkServer>();
  readonly #serving = new Set<Promise<StdioServer>>();
  #ownsStdio = false;
  #stopped: Promise<void> | undefined;

  constructor(options: McpServerOptions) {
    const { toolTimeoutMs, ...others } = options ?? {};
    this.#info = infoOf(options);
    if (toolTimeoutMs !== undefined) checkTimeout(toolTimeoutMs, `${WHERE}: toolTimeoutMs`);
    this.#context = contextOf({ ...others, timeoutMs: toolTimeoutMs }, WHERE, DEFAULT_TIMEOUT_MS);
    const { engine, fallback } = this.#context;
    this.#tools = new Tools({ ...fallback, answerStop }, engine.slots);
    this.#inProcess = new InProcess(this.#tools, engine);
  }

  tool<Input extends ToolSchema | undefined = undefined>(definition: ToolDefinition<Input>): McpApp {
    const tool = this.#tools.add(definition as ToolDefinition<ToolSchema | undefined>);
    for (const server of this.#servers) register(server, tool, this.#inProcess);
    return this;
  }

  callTool(name: string, args?: unknown, options: InProcessOptions = {}): Promise<unknown> {
    return this.#inProcess.call(name, args, options);
  }

  async serve({ transport = 'stdio', onerror }: ServeOptions = {}): Promise<StdioServer> {
    checkTransport(transport);
    if (this.#stopped !== undefined) throw new Error(`estop: serve(): ${this.#info.name} was stopped`);
    if (transport === 'stdio') {
      if (this.#ownsStdio) throw new Error(`estop: serve(): ${this.#info.name} is served over stdio already`);
      this.#ownsStdio = true;
    }
    const serving = this.#serve(transport, onerror);
    this.#serving.add(serving);
    const over = (): void => void this.#serving.delete(serving);
    serving.then(({ closed }) => closed.then(over), over);
    return serving;
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  stats(): Stats {
    return this.#context.engine.stats();
  }

  async #serve(transport: 'stdio' | object, onerror: ServeOptions['onerror']): Promise<StdioServer> {
    const McpServer = await loadSdk();
    const factory = (): SdkServer => {
      const server = sdkServer(McpServer, this.#info);
      this.#servers.add(server);
      server.server.onclose = () => void this.#servers.delete(server);
      for (const tool of this.#tools) register(server, tool, this.#inProcess);
      protect(server, {}, this.#context, this.#tools.rules);
      return server;
    };
    const options = { ...(transport !== 'stdio' && { transport }), ...(onerror && { onerror }) };
    return serveStdio(factory, options, this.#context, await entryV2());
  }

  async #stop(): Promise<void> {
    const ended = this.#context.engine.close();
    // The answers of what was stopped are promises of the SDK; they are written before the connection is closed.
    await new Promise(setImmediate);
    const served = await Promise.allSettled(this.#serving);
    await Promise.all(served.map((one) => one.status === 'fulfilled' && one.value.close()));
    await ended;
  }
}

function infoOf(options: McpServerOptions): ServerInfo {
  const { name, version = '0.0.0', instructions } = options ?? {};
  for (const [option, value] of Object.entries({ name, version })) {
    if (typeof value === 'string' && value !== '') continue;
    throw new TypeError(`estop: ${WHERE}: ${option} must be a non-empty string, got ${show(value)}`);
  }
  return { name, version, instructions };
}

function checkTransport(transport: unknown): void {
  if (transport === 'stdio') return;
  const { start, send } = (transport ?? {}) as { start?: unknown; send?: unknown };
  if (typeof start === 'function' && typeof send === 'function') return;
  throw new TypeError(`estop: serve(): transport must be "stdio" or a transport of the SDK, got ${show(transport)}`);
}
