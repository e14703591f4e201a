/**
 * Text in columns: aligned, and wrapped at words where a column may give way to keep to the width.
 *
 * Control and invisible characters in a cell become spaces, so that a server's name cannot draw on the reader's
 * terminal; colour is a cell's `paint`, applied after measuring. A table whose
 * words do not fit is wider than asked. Does not know of double-width characters.
 */
import { stripVTControlCharacters } from 'node:util';

export interface Column {
  readonly head: string;
  /** May be wrapped when the table is too wide; the widest such column gives way first. */
  readonly wrap?: boolean;
}

export type Paint = (text: string) => string;
export type TableCell = string | { readonly text: string; readonly paint?: Paint };

export type TableRow = readonly TableCell[];

export interface TableOptions {
  readonly width?: number;
  readonly indent?: number;
  readonly gap?: number;
  readonly paintHead?: Paint;
}

const plain: Paint = (text) => text;

/** The table's lines, without newlines at their ends; the first has the heads. */
export function table(columns: readonly Column[], rows: readonly TableRow[], options?: TableOptions): string[] {
  return tableRows(columns, rows, options).flat();
}

/** The same, the heads' lines first and then each row's apart, for what prints something between them. */
export function tableRows(
  columns: readonly Column[],
  rows: readonly TableRow[],
  { width = 100, indent = 2, gap = 2, paintHead = plain }: TableOptions = {},
): string[][] {
  const heads = columns.map((column) => ({ text: column.head, paint: paintHead }));
  const cells = [heads, ...rows].map((row) => columns.map((_, i) => cleaned(row[i] ?? '')));
  const widths = fit(columns, cells, width - indent - gap * (columns.length - 1));
  const pad = (text: string, i: number): string => ' '.repeat(Math.max(0, (widths[i] ?? 0) - length(text)));

  return cells.map((row) => {
    const wrapped = row.map(({ text }, i) => wrap(text, widths[i] ?? 0));
    const height = Math.max(...wrapped.map((lines) => lines.length));
    return Array.from({ length: height }, (_, n) => {
      const line = row.map(({ paint }, i) => {
        const text = wrapped[i]?.[n] ?? '';
        return (text && paint(text)) + pad(text, i);
      });
      return (' '.repeat(indent) + line.join(' '.repeat(gap))).trimEnd();
    });
  });
}

/** `text` in lines of at most `width` characters, broken at spaces; a longer word at a hyphen, or where it must be. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (let word of visible(text).split(/ +/)) {
    if (line && length(line) + 1 + length(word) <= width) {
      line += ` ${word}`;
      continue;
    }
    if (line) lines.push(line);
    while (length(word) > width && width > 0) {
      const most = [...word].slice(0, width).join('');
      const part = most.slice(0, most.lastIndexOf('-') + 1) || most;
      lines.push(part);
      word = word.slice(part.length);
    }
    line = word;
  }
  return [...lines, line];
}

/** `text` on one line, without anything that a terminal would obey. */
export function visible(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim();
}

const length = (text: string): number => [...text].length;

function cleaned(cell: TableCell): { text: string; paint: Paint } {
  const { text, paint = plain } = typeof cell === 'string' ? { text: cell } : cell;
  return { text: visible(text), paint };
}

/** Takes from the widest column that may wrap, as long as words stay whole; then down to what stands between hyphens. */
function fit(columns: readonly Column[], rows: readonly { text: string }[][], room: number): number[] {
  const longest = (i: number, parts: (text: string) => string[]): number =>
    Math.max(...rows.flatMap((row) => parts(row[i]?.text ?? '').map(length)));
  const widths = columns.map((_, i) => longest(i, (text) => [text]));
  const words = columns.map(({ head }, i) =>
    Math.max(
      length(head),
      longest(i, (text) => text.split(' ')),
    ),
  );
  const parts = columns.map((_, i) => longest(i, (text) => text.split(/ |(?<=-)/)));
  for (const least of [words, parts]) {
    while (widths.reduce((sum, width) => sum + width, 0) > room) {
      let widest = -1;
      widths.forEach((width, i) => {
        if (columns[i]?.wrap && width > (least[i] ?? 0) && width > (widths[widest] ?? 0)) widest = i;
      });
      if (widest < 0) break;
      widths[widest] = (widths[widest] ?? 0) - 1;
    }
  }
  return widths;
}
