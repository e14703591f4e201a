/** Over the pipes of a process. */
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { Setup } from '../setups.ts';
import type { HandClient } from './client.ts';
import { callOf, cancelOf, type Frame, initialize, initialized } from './frames.ts';

export function stdioClient(pipes: { stdin: Writable; stdout: Readable }, era: Setup['era']): HandClient {
  const write = (frame: Frame): void => void pipes.stdin.write(`${JSON.stringify(frame)}\n`);
  const lines = createInterface(pipes.stdout);
  let lastId = 0;
  return {
    async open() {
      if (era === 'modern') return;
      write(initialize);
      await new Promise((resolve) => lines.once('line', resolve));
      write(initialized);
    },
    call(args) {
      lastId += 1;
      const id = lastId;
      write(callOf(era, id, args));
      return {
        cancel: async () => write(cancelOf(id)),
        hangUp: () => void pipes.stdin.end(),
        ended: new Promise(() => {}),
      };
    },
  };
}
