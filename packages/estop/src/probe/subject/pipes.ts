/**
 * The probe's transport on the pipes of a server's process: frames are lines of JSON.
 *
 * Each frame is shown before it goes on, so that the log has it before anything can follow from it. A line that is no
 * frame goes to `onGarbage`, and the connection lives on.
 */
import type { Readable, Writable } from 'node:stream';
import { MAX_FRAME, MAX_TEXT, parseFrame } from './frame.ts';
import { splitLines } from './lines.ts';

/** The shape of an MCP SDK `Transport`, v1 or v2. */
export interface PipeTransport {
  start(): Promise<void>;
  send(message: object): Promise<void>;
  close(): Promise<void>;
  onmessage?: ((message: never) => void) | undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
}

interface Pipes {
  readonly stdin: Writable;
  readonly stdout: Readable;
}

interface Ears {
  /** Told of each frame before it goes on. */
  onFrame(direction: 'to-server' | 'to-client', frame: object): void;
  /** The client closes, and the server had not. */
  onHangUp(): void;
  onGarbage(text: string): void;
}

export function pipeTransport({ stdin, stdout }: Pipes, { onFrame, onHangUp, onGarbage }: Ears): PipeTransport {
  let closed = false;
  const transport: PipeTransport = {
    async start() {
      stdout.resume();
    },
    // Does not wait for the pipe to drain: a subject that reads nothing must not hold the harness.
    async send(message) {
      if (!stdin.writable) throw new Error('the stdin of the subject is closed');
      onFrame('to-server', message);
      stdin.write(`${JSON.stringify(message)}\n`);
    },
    async close() {
      if (!closed) onHangUp();
      stdin.end();
      onClose();
    },
  };

  const onClose = (): void => {
    if (closed) return;
    closed = true;
    transport.onclose?.();
  };
  const onError = (error: Error): void => transport.onerror?.(error);

  const lines = splitLines(MAX_FRAME, (line) => {
    const frame = parseFrame(line);
    if (frame === undefined) return onGarbage(line.slice(0, MAX_TEXT));
    onFrame('to-client', frame);
    try {
      if (!closed) transport.onmessage?.(frame as never);
    } catch (error) {
      onError(error as Error);
    }
  });
  stdin.on('error', onError);
  stdout.setEncoding('utf8').on('data', lines.push).on('end', lines.end).on('close', onClose).on('error', onError);
  // Nothing is read before the client listens.
  stdout.pause();
  return transport;
}
