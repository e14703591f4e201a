/** Lines out of chunks of text. */

/** Without blank ones. Of a line longer than `max` the rest is dropped. */
export function splitLines(max: number, onLine: (line: string) => void): { push(chunk: string): void; end(): void } {
  let pending = '';
  const add = (text: string): void => {
    if (pending.length < max) pending += text.slice(0, max - pending.length);
  };
  const flush = (): void => {
    const line = pending;
    pending = '';
    if (/\S/.test(line)) onLine(line);
  };
  return {
    push(chunk) {
      const parts = chunk.split('\n');
      for (const [n, part] of parts.entries()) {
        if (n > 0) flush();
        add(part);
      }
    },
    end: flush,
  };
}
