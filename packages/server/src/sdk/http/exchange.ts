/**
 * One HTTP request and the answer to it: who asked, and whether anybody still listens.
 *
 * Says that the client is gone only when it left before the answer was whole: an end that this server made never
 * counts. Does not know what the request carries.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Post } from './post.ts';

/** What a request shows of its caller. */
export interface HttpRequest {
  readonly method: string;
  /** As it stands in the request: with the host over the web's `Request`, without it over Node's. */
  readonly url: string;
  /** @param name in lower case; several lines of one header are joined by a comma */
  header(name: string): string | undefined;
}

export interface Exchange extends HttpRequest {
  /** The other end of the socket, where that can be known. */
  readonly address: string | undefined;
  /** Hears, at most once, that the client is gone; soon when it is already. @returns takes the listener back */
  onGone(listener: () => void): () => void;
  /** What is in it, when a transport has it and it is a POST. */
  post: Post | undefined;
}

export class NodeExchange implements Exchange {
  post: Post | undefined = undefined;
  private readonly _request: IncomingMessage;
  private readonly _response: ServerResponse;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this._request = request;
    this._response = response;
  }

  get method(): string {
    return this._request.method ?? 'GET';
  }

  get url(): string {
    return this._request.url ?? '/';
  }

  get address(): string | undefined {
    return this._request.socket?.remoteAddress;
  }

  header(name: string): string | undefined {
    const value = this._request.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  onGone(listener: () => void): () => void {
    const response = this._response;
    const closed = (): void => {
      if (!response.writableEnded) listener();
    };
    if (response.destroyed) closed();
    else response.on('close', closed);
    return () => response.off('close', closed);
  }
}

export class WebExchange implements Exchange {
  post: Post | undefined = undefined;
  private readonly _request: Request;
  readonly address = undefined;

  constructor(request: Request) {
    this._request = request;
  }

  get method(): string {
    return this._request.method;
  }

  get url(): string {
    return this._request.url;
  }

  header(name: string): string | undefined {
    return this._request.headers.get(name) ?? undefined;
  }

  onGone(listener: () => void): () => void {
    const { signal } = this._request;
    let isListening = false;
    // Most calls are over by then, and a listener costs more than all else here.
    const soon = setImmediate(() => {
      if (signal.aborted) listener();
      else signal.addEventListener('abort', listener, { once: true });
      isListening = true;
    });
    return () => {
      clearImmediate(soon);
      if (isListening) signal.removeEventListener('abort', listener);
    };
  }
}
