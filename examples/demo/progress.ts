/** A line a server on stderr: redrawn in place on a terminal, and only at the end of each elsewhere. */
export interface ProgressLines {
  /** @param part  of the whole, 0 to 1 */
  update(title: string, part: number): void;
  end(): void;
}

const BAR = 24;

export function showProgress(titles: readonly string[]): ProgressLines {
  const { stderr } = process;
  const parts = new Map(titles.map((title) => [title, 0]));
  const width = Math.max(...titles.map((title) => title.length));
  const line = (title: string, part: number): string => {
    const full = Math.round(part * BAR);
    return `  ${title.padEnd(width)}  ${'━'.repeat(full)}${'─'.repeat(BAR - full)} ${Math.round(part * 100)}%`;
  };
  const up = `\x1b[${titles.length}A`;
  const draw = (): void => {
    stderr.write([...parts].map(([title, part]) => `\x1b[2K${line(title, part)}\n`).join(''));
  };
  if (stderr.isTTY) draw();
  return {
    update(title, part) {
      if (parts.get(title) === part) return;
      parts.set(title, part);
      if (stderr.isTTY) {
        stderr.write(up);
        draw();
      } else if (part === 1) stderr.write(`${line(title, part)}\n`);
    },
    end() {
      if (stderr.isTTY) stderr.write(`${up}\x1b[J`);
    },
  };
}
