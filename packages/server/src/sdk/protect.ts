/**
 * Puts the engine around a server of the official SDK, at the request handler: the one place that all of a server's
 * tools, prompts, resources and completions pass, whenever they were registered and however they are changed.
 *
 * Changes nothing for a call that ends normally. Does not make a handler listen; see `isolated` for those that do not.
 */
import { checkTimeout, disconnected, type Engine, firstGiven } from '../core/index.ts';
import { answerStop } from './answer.ts';
import { bind } from './bind.ts';
import { Connection } from './connection.ts';
import { CALL_METHODS } from './methods.ts';
import { type HandlerShape, type ProtectableServer, type ProtocolShape, protocolOf } from './shapes.ts';

export interface ToolOptions {
  /** ms that a call of this tool may run; 0 and `Infinity`: no deadline. Default: the server's. */
  readonly timeoutMs?: number;
}

export interface ProtectOptions {
  /** ms that a call may run; 0 and `Infinity`: no deadline. Default: the engine's, which has none. */
  readonly timeoutMs?: number;
  /** By the tool's name; also of tools that are registered later. */
  readonly tools?: Readonly<Record<string, ToolOptions>>;
}

export interface ProtectContext {
  readonly engine: Engine;
  /** What holds where neither tool nor server says anything. */
  readonly timeoutMs: number;
  /** For a server that is about to be connected: the connection, when something in front of it reads the wire already. */
  readonly connections: WeakMap<ProtocolShape, Connection>;
}

/** So that a second `protect` of one server is noticed, from whatever copy of this package it comes. */
const PROTECTED = Symbol.for('estop.protected');

/** @throws TypeError for what is no server, or is protected already; RangeError for a bad timeout, naming the tool */
export function protect(server: ProtectableServer, options: ProtectOptions, context: ProtectContext): void {
  const protocol = protocolOf(server);
  const timeoutOf = timeouts(options, context.timeoutMs);
  if (isProtected(server)) throw new TypeError('estop: this server is protected already');
  Object.defineProperty(protocol, PROTECTED, { value: true });

  let connection: Connection | undefined;
  const wrap =
    (handler: HandlerShape): HandlerShape =>
    async (request, sdkContext) => {
      connection ??= new Connection(context.engine);
      const call = connection.dispatch(sdkContext.mcpReq.id, request.method, request.params);
      // What the SDK has already given up is not started either, whatever made it do so.
      if (sdkContext.mcpReq.signal.aborted) call.stop(disconnected());
      bind(call, sdkContext);
      try {
        return await call.run(() => handler(request, sdkContext), timeoutOf(call.method, call.name));
      } catch (error) {
        if (call.reason === undefined) throw error;
        return answerStop(call, call.reason);
      }
    };
  wrapTable(protocol._requestHandlers, wrap);
  wrapFallback(protocol, wrap);

  const connect = protocol.connect.bind(protocol);
  protocol.connect = (transport) => {
    connection = context.connections.get(protocol) ?? Connection.over(transport, context.engine);
    context.connections.delete(protocol);
    return connect(transport);
  };
  if (protocol.transport) connection = Connection.over(protocol.transport, context.engine);
}

export function isProtected(server: ProtectableServer): boolean {
  return (protocolOf(server) as { [PROTECTED]?: true })[PROTECTED] === true;
}

type Wrap = (handler: HandlerShape) => HandlerShape;

/** Handlers that are there, and all that will be set: the SDK sets some of its own at the first registration. */
function wrapTable(table: Map<string, HandlerShape>, wrap: Wrap): void {
  for (const [method, handler] of table) if (CALL_METHODS.has(method)) table.set(method, wrap(handler));
  table.set = function (method, handler) {
    return Map.prototype.set.call(this, method, CALL_METHODS.has(method) ? wrap(handler) : handler) as typeof table;
  };
}

/** What a server without a handler of its own for a method does with its calls. */
function wrapFallback(protocol: ProtocolShape, wrap: Wrap): void {
  const given = protocol.fallbackRequestHandler;
  let fallback: HandlerShape | undefined;
  Object.defineProperty(protocol, 'fallbackRequestHandler', {
    get: () => fallback,
    set(handler: HandlerShape | undefined) {
      const wrapped = handler && wrap(handler);
      fallback =
        handler &&
        wrapped &&
        ((request, context) => (CALL_METHODS.has(request.method) ? wrapped : handler)(request, context));
    },
    enumerable: true,
    configurable: true,
  });
  protocol.fallbackRequestHandler = given;
}

function timeouts(options: ProtectOptions, fallback: number): (method: string, name: string | undefined) => number {
  const server = options.timeoutMs === undefined ? undefined : checkTimeout(options.timeoutMs, 'protect(): timeoutMs');
  const tools = new Map<string, number>();
  for (const [name, tool] of Object.entries(options.tools ?? {})) {
    if (typeof tool !== 'object' || tool === null) {
      throw new TypeError(`estop: tool ${JSON.stringify(name)}: its options must be an object, such as { timeoutMs }`);
    }
    const { timeoutMs } = tool;
    if (timeoutMs !== undefined) tools.set(name, checkTimeout(timeoutMs, `tool ${JSON.stringify(name)}: timeoutMs`));
  }
  const others = firstGiven(server, fallback);
  return (method, name) => {
    if (method !== 'tools/call' || name === undefined) return others;
    return tools.get(name) ?? others;
  };
}
