/**
 * Ties a call to the fresh context that the SDK made for its handler: there the signal is the call's own.
 *
 * After a stop `notify` and `log` (v1: `sendNotification`) resolve quietly, and what asks the client (`send`,
 * `elicitInput`, `requestSampling`; v1: `sendRequest`) rejects with the reason. None of them becomes an unhandled
 * rejection.
 */
import { type Call, heard } from '../core/index.ts';
import { ask } from './ask.ts';
import { ASKS_USER } from './methods.ts';
import type { ContextShape, ExtraShape, HandlerContext, Method, RequestContextShape } from './shapes.ts';

/** Enumerable, because the SDK spreads its contexts on the way to a handler. */
const CALL = Symbol.for('estop.call');

interface Bound {
  [CALL]?: Call;
}

/** One getter for all calls: a signal is made when it is first looked at, and most never are. */
const SIGNAL = {
  get(this: Bound): AbortSignal | undefined {
    return this[CALL]?.signal;
  },
  enumerable: true,
  configurable: true,
};

/** What a request says by itself, without the members that answer it. */
type Said = Pick<
  RequestContextShape,
  'id' | '_meta' | 'requestState' | 'envelope' | 'inputResponses' | 'droppedInputResponseKeys'
>;

/**
 * @param said  see `bindRequest`
 * @returns the context to go on with
 */
export function bind(call: Call, context: HandlerContext, said?: Said): HandlerContext {
  if (!('mcpReq' in context)) return bindExtra(call, context);
  bindRequest(call, context, said);
  return context;
}

/**
 * Of v2. Puts a request context of ours in the place of the SDK's, which has a hidden class of its own each time: to
 * replace a property of it costs more than to make a new one, and each look at it costs too. So its members are read
 * when they are used.
 *
 * @param said  all that is in the context besides the members, where that can be read for less than from there
 */
function bindRequest(call: Call, context: ContextShape, said: Said | undefined): void {
  const { mcpReq } = context;
  const { id, _meta, requestState } = said ?? mcpReq;
  const request: Bound & Record<string, unknown> = {
    id,
    method: call.method,
    _meta,
    requestState,
    notify: (...args: unknown[]) => heard(hush(call, mcpReq.notify, args)),
    log: (...args: unknown[]) => heard(hush(call, mcpReq.log, args)),
    send: (...args: unknown[]) => ask(call, mcpReq.send, args, isForUser(args[0])),
    elicitInput: (...args: unknown[]) => ask(call, mcpReq.elicitInput, args, true),
    requestSampling: (...args: unknown[]) => ask(call, mcpReq.requestSampling, args, true),
    [CALL]: call,
  };
  Object.defineProperty(request, 'signal', SIGNAL);
  if (said === undefined) addOthers(request, mcpReq);
  else addRounds(request, said);
  context.mcpReq = request as unknown as RequestContextShape;
}

/** The modern era's envelope, and what its rounds bring: by name, for this is done for each call. */
function addRounds(request: Record<string, unknown>, said: Said): void {
  const { envelope, inputResponses, droppedInputResponseKeys } = said;
  if (envelope !== undefined) request['envelope'] = envelope;
  if (inputResponses !== undefined) request['inputResponses'] = inputResponses;
  if (droppedInputResponseKeys !== undefined) request['droppedInputResponseKeys'] = droppedInputResponseKeys;
}

/** Those, and what a subclass of the SDK's server may have put there. */
function addOthers(request: Record<string, unknown>, given: RequestContextShape): void {
  for (const name in given) if (!(name in request)) request[name] = given[name as keyof RequestContextShape];
}

/** Of v1. A context of ours too, with all that is in the SDK's: to put a getter in the place of a value costs more. */
function bindExtra(call: Call, extra: ExtraShape): HandlerContext {
  const { sendNotification, sendRequest } = extra;
  const bound: Bound & Record<string, unknown> = { [CALL]: call };
  // Not spread: to look at the signal of a bound one is to make it.
  for (const name in extra) if (name !== 'signal') bound[name] = extra[name as keyof ExtraShape];
  bound['sendNotification'] = (...args: unknown[]) => heard(hush(call, sendNotification, args));
  bound['sendRequest'] = (...args: unknown[]) => ask(call, sendRequest, args, isForUser(args[0]));
  Object.defineProperty(bound, 'signal', SIGNAL);
  return bound as unknown as HandlerContext;
}

/** The call of a handler's context; `undefined` where the server is not protected. */
export function callOf(context: unknown): Call | undefined {
  const given = context as ({ mcpReq?: Bound } & Bound) | null | undefined;
  return (given?.mcpReq ?? given)?.[CALL];
}

/** What fires when the SDK gives the request up; of a context that is bound, the call's own. */
export function signalOf(context: HandlerContext): AbortSignal {
  return 'mcpReq' in context ? context.mcpReq.signal : context.signal;
}

function isForUser(request: unknown): boolean {
  return ASKS_USER.has((request as { method?: unknown } | undefined)?.method);
}

async function hush(call: Call, method: Method, args: unknown[]): Promise<unknown> {
  if (call.reason !== undefined) return undefined;
  try {
    return await method(...(args as never[]));
  } catch (error) {
    if (call.reason === undefined) throw error;
    return undefined;
  }
}
