/**
 * A factory's server for one exchange or session, protected.
 */
import type { ProtectContext } from '../../sdk/context.ts';
import { EXCHANGE_HEADER } from '../../sdk/http/exchanges.ts';
import { isProtected, NO_OPTIONS, protect } from '../../sdk/protect.ts';
import type { ProtectableServer } from '../../sdk/shapes.ts';
import type { HttpServeContext, HttpServerFactory } from './options.ts';

export type Make = (era: HttpServeContext['era'], request: Request, authInfo: unknown) => Promise<ProtectableServer>;

export function making(factory: HttpServerFactory, context: ProtectContext): Make {
  return async (era, request, authInfo) => {
    const server = await factory(new Told(era, authInfo, request));
    if (!isProtected(server)) protect(server, NO_OPTIONS, context);
    return server;
  };
}

class Told implements HttpServeContext {
  readonly era: HttpServeContext['era'];
  readonly authInfo: unknown;
  readonly #request: Request;

  constructor(era: HttpServeContext['era'], authInfo: unknown, request: Request) {
    this.era = era;
    this.authInfo = authInfo;
    this.#request = request;
  }

  /** A copy: the name of its exchange is nobody else's business. */
  get requestInfo(): Request {
    const { url, method, headers, signal } = this.#request;
    const request = new Request(url, { method, headers, signal });
    request.headers.delete(EXCHANGE_HEADER);
    return request;
  }
}
