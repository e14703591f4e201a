/**
 * The body of a request, read before the transport has it: to see the ids in it, and because the SDK reads a Node request
 * through a stream of the web's, which takes longer than all else that estop does.
 *
 * Reads as much as the SDK takes by default. What is longer, or longer than the author's own bound, or no JSON, is left
 * to the SDK to judge.
 */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';

/** Bytes; the SDK's own default. */
export const LONGEST_BODY = 4 * 1024 * 1024;

/** @returns the body, parsed; `undefined` when it is not to be had, and then whoever comes next can still read it */
export async function readAhead(request: IncomingMessage | Request, bound: number): Promise<unknown> {
  if (!('rawHeaders' in request)) return parsed(await request.text().catch(() => ''));
  const body = await readNode(request);
  const value = body === undefined || body.length > bound ? undefined : parsed(body.toString('utf8'));
  // Where what makes a web request of this one looks first.
  if (body !== undefined && value === undefined) Object.assign(request, { rawBody: body });
  return value;
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

/** @returns `undefined` for what is no message in any case, also for a `null` */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    return undefined;
  }
}
