/**
 * What a stream can show: its colours and its width, each stream for itself.
 *
 * No colour where the stream is not a terminal, where `NO_COLOR` is set, or on a dumb terminal.
 */
import pc from 'picocolors';
import type { Colors } from 'picocolors/types.js';

const DEFAULT_WIDTH = 100;
const WIDEST = 120;
const NARROWEST = 60;

export function colorsFor(stream: NodeJS.WriteStream): Colors {
  return pc.createColors(Boolean(stream.isTTY) && !process.env['NO_COLOR'] && process.env['TERM'] !== 'dumb');
}

export function widthOf(stream: NodeJS.WriteStream): number {
  if (!stream.isTTY) return DEFAULT_WIDTH;
  return Math.min(WIDEST, Math.max(NARROWEST, stream.columns || DEFAULT_WIDTH));
}
