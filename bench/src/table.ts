/** Rows for people: a Markdown table that also reads well as plain text, so that it can go into a document as it is. */
import type { Figure, Row } from './row.ts';

const HEAD = ['', 'ours', 'peer', 'unit', 'peer is', 'ratio', 'target', 'holds'] as const;
/** Columns of figures. */
const RIGHT = new Set([1, 2, 5, 6]);

export function table(rows: readonly Row[]): string {
  const cells = rows.map(cellsOf);
  const widths = HEAD.map((head, column) => Math.max(3, head.length, ...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${widths.map((width, column) => pad(row[column] ?? '', width, RIGHT.has(column))).join(' | ')} |`;
  const rule = `|${widths.map((width, column) => `${'-'.repeat(width + 1)}${RIGHT.has(column) ? ':' : '-'}`).join('|')}|`;
  const notes = rows.flatMap((row) => (row.note === undefined ? [] : [`${row.name}: ${row.note}`]));
  return [line(HEAD), rule, ...cells.map(line), ...(notes.length > 0 ? ['', ...notes] : [])].join('\n');
}

function cellsOf(row: Row): string[] {
  const target = row.target === null ? '' : `<= ${short(row.target)}`;
  const holds = row.holds === null ? '' : row.holds === 'unknown' ? 'unknown' : row.holds ? 'yes' : 'NO';
  const ratio = typeof row.ratio === 'number' ? row.ratio.toFixed(3) : (row.ratio ?? '');
  return [row.name, figure(row.ours), figure(row.peer), row.unit, row.peerName ?? '', ratio, target, holds];
}

function figure(value: Figure | null): string {
  return typeof value === 'number' ? short(value) : (value ?? '');
}

/** Four digits that count; amounts in full. */
function short(value: number): string {
  return Math.abs(value) >= 1_000 || Number.isInteger(value) ? String(Math.round(value)) : value.toPrecision(4);
}

function pad(text: string, width: number, right: boolean): string {
  return right ? text.padStart(width) : text.padEnd(width);
}
