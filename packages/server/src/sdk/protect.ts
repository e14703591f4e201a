/**
 * Puts the engine around a server of the official SDK, at the request handler: the one place that all of a server's
 * tools, prompts, resources and completions pass, whenever they were registered and however they are changed.
 *
 * Changes nothing for a call that ends normally. Does not make a handler listen; see `isolated` for those that do not.
 */
import { type Call, disconnected } from '../core/index.ts';
import { answerStop } from './answer.ts';
import { bind, callOf, signalOf } from './bind.ts';
import { Connection } from './connection.ts';
import type { ProtectContext } from './context.ts';
import { CALL_METHODS } from './methods.ts';
import type { Served } from './nested.ts';
import { type CallOptions, type Rules, rulesOf } from './rules.ts';
import {
  type HandlerContext,
  type HandlerShape,
  type ProtectableServer,
  type ProtocolShape,
  protocolOf,
  type RequestShape,
} from './shapes.ts';

export type ProtectOptions = CallOptions;

/** One object, so that what it comes to is found out once. */
export const NO_OPTIONS: ProtectOptions = {};

/** So that a second `protect` of one server is noticed, from whatever copy of this package it comes. */
const PROTECTED = Symbol.for('estop.protected');

interface Marked {
  [PROTECTED]?: true;
}

/**
 * @param given rules that stand in for those of the options
 * @throws TypeError for what is no server, or is protected already; RangeError for a bad timeout, naming the tool
 */
export function protect(
  server: ProtectableServer,
  options: ProtectOptions,
  context: ProtectContext,
  given?: Rules,
): void {
  const protocol = protocolOf(server);
  if (isProtected(server)) throw new TypeError('estop: this server is protected already');
  const rules = given ?? rulesFor(options, context);
  (protocol as Marked)[PROTECTED] = true;

  const handlers = new Map<string, HandlerShape>();
  const served: Served = { protocol, handlers, rules, nest: (parent, init) => context.engine.nest(parent, init) };
  let connection: Connection | undefined;
  const connected = (to: Connection): Connection => {
    to.served = served;
    connection = to;
    return to;
  };
  const wrap = (handler: HandlerShape, method?: string): HandlerShape => {
    if (method !== undefined) handlers.set(method, handler);
    return (request, sdkContext) => {
      const early = callOf(sdkContext);
      const isBound = early !== undefined && !early.wasRun;
      const call = isBound ? early : unread(request, sdkContext);
      const bound = isBound ? sdkContext : bind(call, sdkContext);
      return call.run(() => handler(request, bound), rules(call.method, call.name));
    };
  };
  // A handler of v1, or one that is called past the dispatch of v2.
  const unread = ({ id, method, params }: RequestShape, sdkContext: HandlerContext): Call => {
    connection ??= connected(new Connection(context));
    const call = connection.takeArrived(id) ?? connection.begin(id, method, params);
    // What was given up already is not started either, whatever made it so.
    if (signalOf(sdkContext).aborted) call.stop(disconnected());
    return call;
  };
  wrapTable(protocol, wrap);
  bindEarly(protocol, (id) => connection?.takeArrived(id));

  const { connect } = protocol;
  protocol.connect = (transport) => {
    const known = context.connections.get(protocol);
    if (known !== undefined) context.connections.delete(protocol);
    connected(known ?? Connection.over(transport, context));
    return connect.call(protocol, transport);
  };
  if (protocol.transport) connected(Connection.over(protocol.transport, context));
}

/** Over HTTP a server is protected for each request, by the same options most often. */
function rulesFor(options: ProtectOptions, { rules, fallback, engine }: ProtectContext): Rules {
  const known = rules.get(options);
  if (known !== undefined) return known;
  const made = rulesOf(options, 'protect()', { ...fallback, answerStop }, engine.slots);
  rules.set(options, made);
  return made;
}

export function isProtected(server: ProtectableServer): boolean {
  return (protocolOf(server) as Marked)[PROTECTED] === true;
}

/** @param method under which it is in the table; none for a fallback */
type Wrap = (handler: HandlerShape, method?: string) => HandlerShape;

/**
 * Handlers that are there, and all that will be set: the SDK sets some of its own at the first registration. And where
 * there is none, what the server does instead: it is looked for as it is needed, for it can be set at any time.
 */
function wrapTable(protocol: ProtocolShape, wrap: Wrap): void {
  const table = protocol._requestHandlers;
  for (const [method, handler] of table) if (CALL_METHODS.has(method)) table.set(method, wrap(handler, method));
  table.set = (method, handler) =>
    Map.prototype.set.call(table, method, CALL_METHODS.has(method) ? wrap(handler, method) : handler) as typeof table;
  table.get = (method) => {
    const found = Map.prototype.get.call(table, method) as HandlerShape | undefined;
    const fallback = found === undefined && CALL_METHODS.has(method) ? protocol.fallbackRequestHandler : undefined;
    return fallback === undefined ? found : wrap(fallback);
  };
}

/**
 * Of v2: binds a call as the SDK makes its context, where what the request says is in an object that V8 knows well.
 *
 * @param take the call that was read with this id, if one was
 */
function bindEarly(protocol: ProtocolShape, take: (id: unknown) => Call | undefined): void {
  const build = protocol.buildContext;
  if (build === undefined) return;
  const isSdks = buildsAsTheSdk(protocol);
  protocol.buildContext = (base, extra) => {
    const context = build.call(protocol, base, extra);
    const call = CALL_METHODS.has(base.mcpReq.method) ? take(base.mcpReq.id) : undefined;
    if (call !== undefined) bind(call, context, isSdks ? base.mcpReq : undefined);
    return context;
  };
}

/** Whether the context is as the SDK's own class makes it, and not a subclass, which may put more in it. */
function buildsAsTheSdk(protocol: ProtocolShape): boolean {
  let maker: object | null = protocol;
  while (maker !== null && !Object.hasOwn(maker, 'buildContext')) maker = Object.getPrototypeOf(maker);
  return maker !== null && Object.hasOwn(maker, 'sendToolListChanged' satisfies keyof ProtocolShape);
}
