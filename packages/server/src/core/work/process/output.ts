/**
 * What a command has written, collected up to a limit.
 */
import type { Readable } from 'node:stream';
import { checkCount } from '../../checks.ts';
import type { Exit } from './spawn.ts';

export interface OutputOptions {
  /** bytes of each stream; default 1 048 576. */
  readonly maxBytes?: number | undefined;
}

export interface Output extends Exit {
  /** As UTF-8. */
  readonly stdout: string;
  readonly stderr: string;
}

export interface Written {
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exited: Promise<Exit>;
}

const DEFAULT_MAX_BYTES = 1_048_576;

/**
 * @param who names call and command: `estop: tool "scrape": curl`
 * @param tooMuch hears that there is more than may be collected, and that nobody reads it any more
 * @returns when all has ended; rejects with a RangeError as soon as there is too much, with an Error when some of it has
 *   been read before, and can be had no more
 */
export async function outputOf(
  who: string,
  { stdout, stderr, exited }: Written,
  { maxBytes = DEFAULT_MAX_BYTES }: OutputOptions,
  tooMuch: () => void,
): Promise<Output> {
  checkCount(maxBytes, `output(): maxBytes`, 0);
  const limit = { who, maxBytes, tooMuch };
  const all = [collect('stdout', stdout, limit), collect('stderr', stderr, limit), exited] as const;
  const [out, err, exit] = await Promise.all(all);
  return { ...exit, stdout: out, stderr: err };
}

interface Limit {
  readonly who: string;
  readonly maxBytes: number;
  readonly tooMuch: () => void;
}

function collect(name: string, stream: Readable, { who, maxBytes, tooMuch }: Limit): Promise<string> {
  return new Promise((resolve, reject) => {
    if (isPartlyRead(stream)) {
      reject(new Error(`${who}: output() comes too late: ${name} has been read; call it right after spawn()`));
      return;
    }
    // Nothing was written, and its end is over.
    if (stream.closed) return resolve('');
    const chunks: Buffer[] = [];
    let bytes = 0;
    stream.on('data', (data: Buffer | string) => {
      // Text, where the handler has set an encoding.
      const chunk = typeof data === 'string' ? Buffer.from(data) : data;
      bytes += chunk.length;
      if (bytes <= maxBytes) return void chunks.push(chunk);
      tooMuch();
      stream.destroy();
      reject(new RangeError(`${who} wrote more than ${maxBytes} bytes to ${name}`));
    });
    stream.once('error', () => {});
    stream.once('close', () => resolve(Buffer.concat(chunks).toString('utf8')));
  });
}

/** By a reader that has left, or by Node, which empties what nobody reads at a command's exit. */
function isPartlyRead(stream: Readable): boolean {
  return stream.readableDidRead && (stream.closed || stream.listenerCount('data') === 0);
}
