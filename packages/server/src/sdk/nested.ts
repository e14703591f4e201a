/**
 * A tool of a protected server that another one calls, in process: the SDK still validates what goes in and out.
 *
 * The nested call has a deadline and a gate of its own, and no wire: its result goes to the tool that asked, and
 * nothing of it is sent. It ends with its caller.
 */
import { type Call, heard, type RunOptions } from '../core/index.ts';
import { bind, callOf } from './bind.ts';
import { Connection, rootOf } from './connection.ts';
import { type DeadlineOptions, deadlineOf, type Rules } from './rules.ts';
import type { HandlerContext, HandlerShape, ProtocolShape } from './shapes.ts';

const METHOD = 'tools/call';

/** What one protected server has, for calls that come from inside. */
export interface Served {
  readonly protocol: ProtocolShape;
  /** The SDK's own handlers, by method, without estop around them. */
  readonly handlers: ReadonlyMap<string, HandlerShape>;
  readonly rules: Rules;
  nest(parent: Call, init: { method: string; name: string }): Call;
}

/**
 * @returns the tool's result as the SDK makes it (a tool that throws has `isError`)
 * @throws (rejects with) the `StopReason` when the nested call or its caller is stopped; a TypeError when `context` is none
 */
export function callTool(context: unknown, name: string, args: unknown, options: DeadlineOptions): Promise<unknown> {
  return heard(start(context as HandlerContext, name, args, options));
}

async function start(context: HandlerContext, name: string, args: unknown, options: DeadlineOptions): Promise<unknown> {
  const parent = callOf(context);
  const served = parent === undefined ? undefined : servedBy(parent);
  const handler = served?.handlers.get(METHOD);
  if (parent === undefined || served === undefined || handler === undefined) {
    throw new TypeError(
      'estop: callTool() takes the context of a handler on a protected server with tools; this is none',
    );
  }
  const where = `callTool(${JSON.stringify(name)}): `;
  const rules: RunOptions = deadlineOf(options, where, served.rules(METHOD, name));
  const call = served.nest(parent, { method: METHOD, name });
  // The progress token is the caller's: two that count with one token would contradict each other.
  const { progressToken: _, ...meta } = ('mcpReq' in context ? context.mcpReq : context)._meta ?? {};
  const nested = bind(call, copyOf(context, meta));
  const request = { id: rootOf(parent).id, method: METHOD, params: { name, arguments: args ?? {}, _meta: meta } };
  return call.run(() => handler(request, nested), { ...rules, answerStop: undefined });
}

/** The same context with another `_meta`, to be bound to another call. */
function copyOf(context: HandlerContext, _meta: object): HandlerContext {
  if ('mcpReq' in context) return { ...context, mcpReq: Object.create(context.mcpReq, { _meta: { value: _meta } }) };
  const copy: Record<string, unknown> = {};
  // Not spread: to look at the signal is to make it.
  for (const name in context) if (name !== 'signal') copy[name] = context[name as keyof typeof context];
  return { ...copy, _meta } as unknown as HandlerContext;
}

/** A nested call's owner is its caller's work: the server is that of the call which came over the wire. */
export function servedBy(call: Call): Served | undefined {
  const { owner } = rootOf(call);
  return owner instanceof Connection ? owner.served : undefined;
}
