/**
 * The door for Node: a function for `node:http`, Express, and what else has Node's requests and responses.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ProtectContext } from '../../sdk/context.ts';
import { Door, type FetchHandler } from './door.ts';
import { serveNode } from './node.ts';
import type { HttpHandlerOptions, HttpServerFactory } from './options.ts';

export interface NodeHandler extends Pick<FetchHandler, 'close' | 'destroy'> {
  /**
   * Answers a request; `request.auth` is what the author's authentication found.
   *
   * @param parsedBody the body, when somebody has read it already, as `express.json()` does; a function, such as
   *   Express's `next`, is none, and then `request.body` is taken
   */
  (request: IncomingMessage, response: ServerResponse, parsedBody?: unknown): Promise<void>;
}

/** @throws TypeError or RangeError for an option that is none of its kind, naming it */
export function nodeHandler(
  factory: HttpServerFactory,
  options: HttpHandlerOptions,
  context: ProtectContext,
): NodeHandler {
  return overNode(new Door(factory, options, context, 'nodeHandler()'), context);
}

/** The door, for Node's requests. */
export function overNode({ fetch, close, destroy }: Door, context: ProtectContext): NodeHandler {
  const handle = (request: IncomingMessage, response: ServerResponse, parsedBody?: unknown): Promise<void> => {
    // At the earliest moment: a client may be gone before its body is read.
    const { exchanges } = context.http;
    const exchange = exchanges.ofNode(request, response);
    const fetchIn: typeof fetch = (webRequest, options) => {
      exchanges.join(webRequest, exchange);
      return fetch(webRequest, options);
    };
    return serveNode(fetchIn, request, response, typeof parsedBody === 'function' ? undefined : parsedBody);
  };
  return Object.assign(handle, { close, destroy });
}
