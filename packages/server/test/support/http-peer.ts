/** A real HTTP server on loopback whose answers wait for the test, and that sees when a request of its is given up. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { type Latch, latch, soon } from './waiting.ts';

export interface Exchange {
  readonly request: IncomingMessage;
  /** Sends the headers and this part of the body. */
  writes(text: string): void;
  ends(text?: string): void;
  /** Resolves when the connection was closed before the answer was whole. */
  readonly givenUp: Promise<void>;
}

export class HttpPeer {
  readonly url: string;
  /** The paths of all requests that have come, in order. */
  readonly paths: string[] = [];
  readonly #latches = new Map<string, Latch<Exchange>>();

  constructor(url: string) {
    this.url = url;
  }

  /** The last request for this path. Its answer waits, except below `/now/`. */
  arrived(path: string): Promise<Exchange> {
    return soon(this.#latch(path).promise, `a request for ${path} arrives`);
  }

  take(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? '';
    this.paths.push(path);
    const givenUp = once(response, 'close').then(() => {
      if (response.writableFinished) throw new Error(`${path} was answered`);
    });
    givenUp.catch(() => {});
    if (path.startsWith('/now/')) response.end(path);
    this.#latch(path).open({
      request,
      writes: (text) => void response.write(text),
      ends: (text) => void response.end(text),
      get givenUp() {
        return soon(givenUp, `the request for ${path} is given up`);
      },
    });
  }

  #latch(path: string): Latch<Exchange> {
    let found = this.#latches.get(path);
    if (found === undefined) {
      found = latch<Exchange>();
      this.#latches.set(path, found);
    }
    return found;
  }
}

export async function startHttpPeer(): Promise<HttpPeer> {
  const server = createServer((request, response) => peer.take(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const peer = new HttpPeer(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return peer;
}
