/**
 * The ids of the requests in a body, read before the transport has it.
 *
 * Reads as much as the SDK takes by default; what is longer, or no JSON, is left to the SDK to judge.
 */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';

/** Bytes; the SDK's own default. */
const LONGEST_BODY = 4 * 1024 * 1024;

/** @returns the body, parsed; `undefined` when it is not to be had, and then whoever comes next can still read it */
export async function readAhead(request: IncomingMessage | Request): Promise<unknown> {
  if (!('rawHeaders' in request)) return parsed(await request.text().catch(() => ''));
  const body = await readNode(request);
  const value = body === undefined ? undefined : parsed(body.toString('utf8'));
  // Whoever turns this into a web request looks for it here when the stream has been read.
  if (body !== undefined && value === undefined) Object.assign(request, { rawBody: body });
  return value;
}

export function idsIn(body: unknown): unknown[] {
  const messages: unknown[] = Array.isArray(body) ? body : [body];
  return messages.flatMap((message) => {
    const { id, method } = (message ?? {}) as { id?: unknown; method?: unknown };
    return typeof method === 'string' && id !== undefined ? [id] : [];
  });
}

/** @returns `undefined` when it cannot be had: what is too long stands in the stream again */
function readNode(stream: Readable): Promise<Buffer | undefined> {
  if (stream.readableEnded || stream.destroyed) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const done = (result: Buffer | undefined): void => {
      stream.off('data', read).off('end', end).off('error', fail).off('close', fail);
      resolve(result);
    };
    const end = (): void => done(Buffer.concat(chunks));
    const fail = (): void => done(undefined);
    const read = (chunk: Buffer): void => {
      chunks.push(chunk);
      length += chunk.length;
      if (length <= LONGEST_BODY) return;
      stream.pause();
      done(undefined);
      stream.unshift(Buffer.concat(chunks));
    };
    stream.on('data', read).on('end', end).on('error', fail).on('close', fail);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
