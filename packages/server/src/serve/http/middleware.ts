/**
 * One line before the routes of an app in which `protect`ed servers are connected by hand.
 *
 * It does what is not seen from the transport: a session id that estop minted ends with its DELETE, and the client's
 * address and its hang-up are known also where the app hands the SDK another request than the one that came. What it
 * does not do is serve, or look at Host and Origin.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ProtectContext } from '../../sdk/context.ts';
import { endsMinted } from './minted.ts';

/** For `app.use()`: of Express, and of what else has its shape. */
export type ExpressMiddleware = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;

/** For `app.addHook('onRequest', ...)`, or any later hook. */
export type FastifyHook = (
  request: { readonly raw: IncomingMessage },
  reply: { readonly raw: ServerResponse; hijack(): unknown },
  done: () => void,
) => void;

export interface HonoContext {
  readonly req: { raw: Request };
  /** On `@hono/node-server`: Node's request and response. */
  readonly env?: unknown;
}

/** For `app.use()`. */
export type HonoMiddleware<C extends HonoContext> = (
  context: C,
  next: () => Promise<void>,
) => Promise<Response | undefined>;

export function express(context: ProtectContext): ExpressMiddleware {
  return (request, response, next) => {
    if (!isDone(request, response, context)) next();
  };
}

export function fastify(context: ProtectContext): FastifyHook {
  return ({ raw: request }, reply, done) => {
    if (isDone(request, reply.raw, context)) reply.hijack();
    else done();
  };
}

/** @param authInfo what the author's authentication found, where Hono keeps it */
export function hono<C extends HonoContext>(
  context: ProtectContext,
  authInfo: ((context: C) => unknown) | undefined,
): HonoMiddleware<C> {
  return async (honoContext, next) => {
    const { req, env } = honoContext;
    const { incoming, outgoing } = (env ?? {}) as { incoming?: IncomingMessage; outgoing?: ServerResponse };
    const { exchanges } = context.http;
    const isOnNode = incoming !== undefined && outgoing !== undefined;
    const exchange = isOnNode ? exchanges.ofNode(incoming, outgoing) : exchanges.ofWeb(req.raw);
    if (endsMinted(exchange, authInfo?.(honoContext), context)) return new Response();
    const { request, forget } = exchanges.nameWeb(req.raw, exchange);
    try {
      req.raw = request;
      await next();
      return undefined;
    } finally {
      forget();
    }
  };
}

function isDone(request: IncomingMessage, response: ServerResponse, context: ProtectContext): boolean {
  const { exchanges } = context.http;
  const exchange = exchanges.ofNode(request, response);
  if (endsMinted(exchange, (request as { auth?: unknown }).auth, context)) {
    response.writeHead(200).end();
    return true;
  }
  exchanges.nameNode(request, response, exchange);
  return false;
}
