/**
 * Which exchange a message came in: told to the SDK's far side by a header that only this process can have written.
 *
 * The SDK turns a Node request into another object on its way to a handler, and both majors hand on its headers. The
 * header is added where the exchange is opened, and taken off before a handler can see it. One from a client names
 * nothing.
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
  #opened = 0;
  readonly #open = new Map<string, Exchange>();
  // By whatever object stands for the request.
  readonly #known = new WeakMap<object, Exchange>();

  /** How many are named by their header. */
  get size(): number {
    return this.#open.size;
  }

  /** The exchange of a Node request, opened at most once. */
  ofNode(request: IncomingMessage, response: ServerResponse): Exchange {
    const known = this.#known.get(request);
    if (known !== undefined) return known;
    const exchange = new NodeExchange(request, response);
    const token = this.#name(request, exchange);
    if (EXCHANGE_HEADER in request.headers) strip(request.rawHeaders);
    request.headers[EXCHANGE_HEADER] = token;
    request.rawHeaders.push(EXCHANGE_HEADER, token);
    if (response.destroyed) setImmediate(() => this.#open.delete(token));
    else response.once('close', () => this.#open.delete(token));
    return exchange;
  }

  /**
   * The exchange of a web request: the one in which a door of Node's received it, or its own.
   *
   * @returns the request to go on with, and what forgets its name: to be called when the messages in it were read
   */
  ofWeb(given: Request): { exchange: Exchange; request: Request; forget: () => void } {
    const known =
      this.#known.get(given) ?? (this.#open.size > 0 ? this.#named(given.headers.get(EXCHANGE_HEADER)) : undefined);
    if (known !== undefined) return { exchange: known, request: given, forget: nothing };
    const request = withOwnHeaders(given);
    const exchange = new WebExchange(request);
    const token = this.#name(request, exchange);
    request.headers.set(EXCHANGE_HEADER, token);
    return { exchange, request, forget: () => void this.#open.delete(token) };
  }

  /** The same, where the request itself comes with its messages, so that it needs no name: in v2. */
  ofSameWeb(request: Request): Exchange {
    const named = this.#open.size > 0 ? this.#named(request.headers.get(EXCHANGE_HEADER)) : undefined;
    const exchange = this.#known.get(request) ?? named ?? new WebExchange(request);
    this.#known.set(request, exchange);
    return exchange;
  }

  /** The exchange that a message came in. */
  of(extra: MessageExtra): Exchange | undefined {
    const { request, requestInfo } = extra;
    const carrier = request ?? requestInfo;
    if (carrier === undefined) return undefined;
    const token = this.#open.size > 0 ? takeToken(extra) : undefined;
    const known = this.#known.get(carrier);
    if (known !== undefined) return known;
    const exchange = this.#named(token) ?? (request === undefined ? undefined : new WebExchange(request));
    if (exchange !== undefined) this.#known.set(carrier, exchange);
    return exchange;
  }

  #name(carrier: object, exchange: Exchange): string {
    this.#opened += 1;
    const token = `${this.#secret}-${this.#opened}`;
    this.#open.set(token, exchange);
    this.#known.set(carrier, exchange);
    return token;
  }

  #named(token: unknown): Exchange | undefined {
    return typeof token === 'string' ? this.#open.get(token) : undefined;
  }
}

const nothing = (): void => {};

/** The header's value, which is in nobody's way from then on. */
function takeToken({ request, requestInfo }: MessageExtra): unknown {
  const token = request?.headers.get(EXCHANGE_HEADER) ?? requestInfo?.headers[EXCHANGE_HEADER];
  if (token === undefined) return undefined;
  request?.headers.delete(EXCHANGE_HEADER);
  if (requestInfo !== undefined) delete requestInfo.headers[EXCHANGE_HEADER];
  return token;
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
