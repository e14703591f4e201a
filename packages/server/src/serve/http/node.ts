/**
 * A Node request to the web's, and the answer back: for doors that know only the latter.
 *
 * Reads the body, up to the SDK's own bound, and parses it once. A client that hangs up aborts the request's signal and
 * gives up its answer.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { NodeExchange } from '../../sdk/http/exchange.ts';
import { LONGEST_BODY } from '../../sdk/http/read-ahead.ts';
import { malformed, tooLong } from './refusals.ts';
import type { FetchOptions } from './sdk.ts';

type Fetch = (request: Request, options: FetchOptions) => Promise<Response>;

/** What an author's middleware adds to a request. */
interface Prepared extends IncomingMessage {
  readonly auth?: unknown;
  readonly body?: unknown;
}

/** @param parsed the body, when somebody has read it already */
export async function serveNode(
  fetch: Fetch,
  request: IncomingMessage,
  response: ServerResponse,
  parsed: unknown,
): Promise<void> {
  const gone = new AbortController();
  new NodeExchange(request, response).onGone(() => gone.abort());
  const { auth: authInfo, body: left } = request as Prepared;
  const body = parsed !== undefined ? parsed : request.readableEnded ? left : await read(request);
  if (gone.signal.aborted) return;
  const answer = await answerOf(fetch, request, gone.signal, body, authInfo);
  await write(answer, response);
}

async function answerOf(
  fetch: Fetch,
  request: IncomingMessage,
  signal: AbortSignal,
  body: unknown,
  authInfo: unknown,
): Promise<Response> {
  if (body === TOO_LONG) return tooLong(LONGEST_BODY);
  const unparsed = body instanceof Unparsed ? body.text : undefined;
  let webRequest: Request;
  try {
    webRequest = webRequestOf(request, signal, unparsed);
  } catch {
    return malformed();
  }
  return fetch(webRequest, { authInfo, parsedBody: unparsed === undefined ? body : undefined });
}

/** @throws TypeError for a host, a method or a header that is none */
function webRequestOf(
  { method = 'GET', url = '/', headers }: IncomingMessage,
  signal: AbortSignal,
  body?: string,
): Request {
  const webHeaders = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    // Those with a colon are HTTP/2's.
    if (value === undefined || name.startsWith(':')) continue;
    for (const one of Array.isArray(value) ? value : [value]) webHeaders.append(name, one);
  }
  const host = headers.host ?? headers[':authority'] ?? 'localhost';
  return new Request(`http://${host}${url}`, { method, headers: webHeaders, signal, ...(body && { body }) });
}

const TOO_LONG = Symbol();

/** No JSON: the SDK says so itself. */
class Unparsed {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** @returns the body, parsed; `undefined` when there can be none */
async function read(request: IncomingMessage): Promise<unknown> {
  if (request.method === 'GET' || request.method === 'HEAD') return undefined;
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      chunks.push(chunk as Buffer);
      length += (chunk as Buffer).length;
      if (length > LONGEST_BODY) return TOO_LONG;
    }
  } catch {
    // The client is gone.
    return undefined;
  }
  const text = Buffer.concat(chunks).toString('utf8');
  try {
    return JSON.parse(text);
  } catch {
    return new Unparsed(text);
  }
}

async function write(answer: Response, response: ServerResponse): Promise<void> {
  // The app was faster, with an answer of its own.
  if (response.headersSent) {
    await answer.body?.cancel();
    return;
  }
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body === null) {
    response.end();
    return;
  }
  response.flushHeaders();
  const reader = answer.body.getReader();
  const closed = new Promise<void>((resolve) => {
    if (response.destroyed) resolve();
    else response.once('close', resolve);
  });
  void closed.then(() => reader.cancel()).catch(() => {});
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      if (!response.write(part.value)) await Promise.race([drained(response), closed]);
    }
    response.end();
  } catch {
    // Its end is not known to be its end.
    response.destroy();
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => void response.once('drain', resolve));
}
