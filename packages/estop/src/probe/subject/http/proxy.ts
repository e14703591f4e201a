/**
 * The recording proxy: stands on loopback between a client and a server over HTTP, as the tee does on pipes.
 *
 * Shows each frame to the capture before it goes on, in either direction, and what became of the POST that carried it.
 * Who hangs up on the proxy has hung up on the other side, at once. Each exchange has two connections of its own, which
 * end with it, so that a hang-up means one exchange. Changes nothing but what a connection needs (`host`, `connection`,
 * the proxy's own origin in `location`), and asks for no compression, which could not be read. Does not hold a stream
 * back, and does not end because of anything that either side sends.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { urlToHttpOptions } from 'node:url';
import type { Capture } from '../capture.ts';
import { type BodyReader, bodyReader, jsonReader } from './body.ts';

export interface Proxy {
  /** The server's, at the proxy's own host and port. */
  readonly url: URL;
  /** Ends every exchange and its sockets. What closes from then on is no fact about a client. */
  close(): Promise<void>;
}

export interface ProxyEars {
  readonly capture: Capture;
  /** The server has answered something. */
  onAnswer(): void;
  /** The server sent something in the place of a frame that is none. */
  onGarbage(text: string): void;
}

export async function startProxy(target: URL, { capture, onAnswer, onGarbage }: ProxyEars): Promise<Proxy> {
  let closing = false;
  // No timeout of the proxy's may end an exchange: that would read as the server's end.
  const server = createServer({ requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0 }, (req, res) => {
    try {
      exchange(req, res);
    } catch {
      // Nothing that could be sent on.
      res.destroy();
    }
  });
  server.on('clientError', (_, socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const url = new URL(target);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;

  function exchange(req: IncomingMessage, res: ServerResponse): void {
    const carried: object[] = [];
    const upstream = request({
      ...urlToHttpOptions(target),
      method: req.method,
      path: req.url,
      headers: [...passedOn(req.rawHeaders, ['host', 'accept-encoding']), 'host', target.host],
      agent: false,
    });
    // Invariant: an exchange ends once, by its answer's end or by whoever hangs up first.
    let over = false;
    const hangUp = (by: 'client' | 'server'): void => {
      if (over) return;
      over = true;
      if (!closing) for (const frame of carried) capture.closed(frame, by);
      upstream.destroy();
      res.destroy();
    };
    req.on('error', () => {});
    res.on('error', () => {}).on('close', () => hangUp('client'));

    let answered = false;
    upstream
      .on('error', () => hangUp('server'))
      .on('close', () => {
        if (!answered) hangUp('server');
      })
      .on('response', (answer) => {
        answered = true;
        if (over) return void answer.destroy();
        try {
          passAnswer(answer);
        } catch {
          hangUp('server');
        }
      });

    function passAnswer(answer: IncomingMessage): void {
      const status = answer.statusCode as number;
      onAnswer();
      for (const frame of carried) capture.answered(frame, status);
      res.sendDate = false;
      res.writeHead(status, answer.statusMessage, [...homeward(answer.rawHeaders), 'connection', 'close']);
      res.flushHeaders();
      answer
        .on('error', () => {})
        .on('close', () => {
          if (!answer.complete) hangUp('server');
        });
      const onFrame = (frame: object): void => capture.seen('to-client', frame);
      pass(answer, bodyReader(answer.headers['content-type'], { onFrame, onGarbage }), res, () => {
        over = true;
      });
    }

    const onFrame = (frame: object): void => {
      carried.push(frame);
      capture.seen('to-server', frame);
    };
    pass(req, jsonReader({ onFrame, onGarbage: () => {} }), upstream, () => {});
  }

  /** The server's own absolute address in a redirect would lead the client past the proxy. */
  function homeward(headers: readonly string[]): string[] {
    return passedOn(headers, []).map((text, n, all) => {
      const isLocation = n % 2 === 1 && all[n - 1]?.toLowerCase() === 'location';
      return isLocation && text.startsWith(`${target.origin}/`) ? url.origin + text.slice(target.origin.length) : text;
    });
  }

  return {
    url,
    close() {
      closing = true;
      return new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

/** Each chunk when the reader has seen it, at the pace of the receiver; `onEnd` before the end goes on. */
function pass(from: Readable, reader: BodyReader, to: Writable, onEnd: () => void): void {
  from.on('data', (chunk: Buffer) => {
    const next = reader.push(chunk);
    if (next === undefined || to.write(next)) return;
    from.pause();
    to.once('drain', () => from.resume());
  });
  from.on('end', () => {
    const rest = reader.end();
    onEnd();
    if (rest?.length) to.write(rest);
    to.end();
  });
}

/** Of one connection, and no fact of the message. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'];

/** Raw headers, in their order and their own spelling, without those that end here. */
function passedOn(headers: readonly string[], without: readonly string[]): string[] {
  const ends = [...HOP_BY_HOP, ...without];
  return headers.filter((_, n) => !ends.includes((headers[n - (n % 2)] ?? '').toLowerCase()));
}
