/**
 * Which exchange a request belongs to, also where it has become another object on its way to the SDK's transport.
 *
 * A door that makes another request joins it to its exchange. Where an app does that, the exchange has a name: a header
 * that only this process can have written, since both majors of the SDK hand on the headers. It is taken off before a
 * handler can see it. One from a client names nothing.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Exchange, NodeExchange, WebExchange } from './exchange.ts';

export const EXCHANGE_HEADER = 'x-estop-exchange';

/** What the SDK tells beside a message: `requestInfo` in v1, `request` in v2. */
export interface MessageExtra {
  readonly authInfo?: unknown;
  readonly request?: Request;
  readonly requestInfo?: { readonly headers: Record<string, unknown> };
  /** There exactly when the client can resume the stream of its answer. */
  readonly closeSSEStream?: unknown;
  /** v2, of the modern era over HTTP. */
  readonly classification?: { readonly era?: unknown };
}

export class Exchanges {
  // Nobody outside can guess it.
  readonly #secret = randomUUID();
  #count = 0;
  readonly #named = new Map<string, Exchange>();
  // By whatever object stands for the request, where somebody else will ask for it.
  readonly #known = new WeakMap<object, Exchange>();

  /** Whether any exchange may be asked for by a name. */
  get hasNames(): boolean {
    return this.#named.size > 0;
  }

  /** From now on this request is that exchange's, too. */
  join(request: object, exchange: Exchange): void {
    this.#known.set(request, exchange);
  }

  ofNode(request: IncomingMessage, response: ServerResponse): Exchange {
    return this.#known.get(request) ?? new NodeExchange(request, response);
  }

  ofWeb(request: Request): Exchange {
    const named = this.hasNames ? this.#named.get(request.headers.get(EXCHANGE_HEADER) ?? '') : undefined;
    return this.#known.get(request) ?? named ?? new WebExchange(request);
  }

  /** The exchange of a message, by the request that came with it. */
  of(extra: MessageExtra): Exchange | undefined {
    const named = this.takeNamed(extra);
    const { request } = extra;
    if (named !== undefined || request === undefined) return named;
    return this.#known.get(request) ?? new WebExchange(request);
  }

  /** The exchange that the headers beside a message name; they do not, afterwards. */
  takeNamed({ request, requestInfo }: MessageExtra): Exchange | undefined {
    if (!this.hasNames) return undefined;
    const carrier = request ?? requestInfo;
    const token = request?.headers.get(EXCHANGE_HEADER) ?? requestInfo?.headers[EXCHANGE_HEADER];
    const named = typeof token === 'string' ? this.#named.get(token) : undefined;
    // Another message of the same batch.
    if (named === undefined) return carrier && this.#known.get(carrier);
    request?.headers.delete(EXCHANGE_HEADER);
    if (requestInfo !== undefined) delete requestInfo.headers[EXCHANGE_HEADER];
    if (carrier !== undefined) this.#known.set(carrier, named);
    return named;
  }

  /** Writes the exchange's name on a Node request, once, until the response is over. */
  nameNode(request: IncomingMessage, response: ServerResponse, exchange: Exchange): void {
    this.#known.set(request, exchange);
    const given = request.headers[EXCHANGE_HEADER];
    if (typeof given === 'string' && this.#named.get(given) === exchange) return;
    if (given !== undefined) strip(request.rawHeaders);
    const token = this.#name(exchange);
    request.headers[EXCHANGE_HEADER] = token;
    request.rawHeaders.push(EXCHANGE_HEADER, token);
    if (response.destroyed) setImmediate(() => this.#named.delete(token));
    else response.once('close', () => this.#named.delete(token));
  }

  /** @returns the request to go on with, and what forgets its name: to be called when the messages in it were read */
  nameWeb(given: Request, exchange: Exchange): { request: Request; forget: () => void } {
    const request = withOwnHeaders(given);
    const token = this.#name(exchange);
    request.headers.set(EXCHANGE_HEADER, token);
    this.#known.set(request, exchange);
    return { request, forget: () => void this.#named.delete(token) };
  }

  #name(exchange: Exchange): string {
    this.#count += 1;
    const token = `${this.#secret}-${this.#count}`;
    this.#named.set(token, exchange);
    return token;
  }
}

function strip(rawHeaders: string[]): void {
  for (let at = rawHeaders.length - 2; at >= 0; at -= 2) {
    if (rawHeaders[at]?.toLowerCase() === EXCHANGE_HEADER) rawHeaders.splice(at, 2);
  }
}

/** Some runtimes hand out requests whose headers cannot be changed. */
function withOwnHeaders(request: Request): Request {
  try {
    request.headers.delete(EXCHANGE_HEADER);
    return request;
  } catch {
    return new Request(request, { headers: new Headers(request.headers) });
  }
}
