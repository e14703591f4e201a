/**
 * The frames in the body of an HTTP message, read as it passes.
 *
 * A stream of events goes on chunk by chunk. JSON is held until it is whole, so that its frame is told before the other
 * side can have it; what is longer than a frame may be goes on unread. Changes no byte, and does not stumble over any.
 */
import { MAX_FRAME, MAX_TEXT, parseFrame } from '../frame.ts';
import { sseReader } from './sse.ts';

export interface BodyEars {
  /** Told of each frame before it goes on. */
  onFrame(frame: object): void;
  /** Told of what stands where a frame should, and is none. */
  onGarbage(text: string): void;
}

export interface BodyReader {
  /** @returns what may go on by now */
  push(chunk: Buffer): Buffer | undefined;
  /** @returns the rest */
  end(): Buffer | undefined;
}

/** For a response, by its `content-type`; of another type than these two nothing is read. */
export function bodyReader(contentType: string | undefined, ears: BodyEars): BodyReader {
  const type = contentType?.split(';')[0]?.trim().toLowerCase();
  if (type === 'text/event-stream') return eventReader(ears);
  return type === 'application/json' ? jsonReader(ears) : { push: (chunk) => chunk, end: () => undefined };
}

export function jsonReader(ears: BodyEars): BodyReader {
  let held: Buffer[] | undefined = [];
  let size = 0;
  const release = (): Buffer | undefined => {
    const all = held && Buffer.concat(held);
    held = undefined;
    return all;
  };
  return {
    push(chunk) {
      size += chunk.length;
      if (held === undefined) return chunk;
      held.push(chunk);
      return size > MAX_FRAME ? release() : undefined;
    },
    end() {
      const all = release();
      if (all) read(all.toString(), ears);
      return all;
    },
  };
}

function eventReader(ears: BodyEars): BodyReader {
  const tell = sseReader(MAX_FRAME, (data) => read(data, ears));
  return {
    push(chunk) {
      tell(chunk);
      return chunk;
    },
    end: () => undefined,
  };
}

function read(text: string, { onFrame, onGarbage }: BodyEars): void {
  if (!/\S/.test(text)) return;
  const frame = parseFrame(text);
  if (frame) onFrame(frame);
  else onGarbage(text.slice(0, MAX_TEXT));
}
