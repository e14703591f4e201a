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
    if (incoming !== undefined && outgoing !== undefined) {
      context.http.exchanges.ofNode(incoming, outgoing);
      nameAsWell(req.raw, incoming);
    }
    const { exchange, request, forget } = context.http.exchanges.ofWeb(req.raw);
    try {
      if (endsMinted(exchange, authInfo?.(honoContext), context)) return new Response();
      req.raw = request;
      await next();
      return undefined;
    } finally {
      forget();
    }
  };
}

/** Its headers may have been copied from Node's before the exchange was named there. */
function nameAsWell({ headers }: Request, incoming: IncomingMessage): void {
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (!headers.has(name)) headers.set(name, String(value));
  }
}

function isDone(request: IncomingMessage, response: ServerResponse, context: ProtectContext): boolean {
  const exchange = context.http.exchanges.ofNode(request, response);
  if (!endsMinted(exchange, (request as { auth?: unknown }).auth, context)) return false;
  response.writeHead(200).end();
  return true;
}
