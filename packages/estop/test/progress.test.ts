/** What stands on stderr while a run goes on. */
import { stripVTControlCharacters } from 'node:util';
import pc from 'picocolors';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { liveLine, plainLines } from '../src/cli/progress.ts';
import type { Progress } from '../src/probe/options.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const attempt: Progress = {
  type: 'attempt',
  era: 'modern',
  case: 'during_work',
  attempt: 2,
  state: 'running',
  done: 9,
  planned: 18,
};

function terminal(columns: number): { stream: NodeJS.WriteStream; written: string[] } {
  const written: string[] = [];
  const stream = { columns, write: (chunk: string) => written.push(chunk) > 0 };
  return { stream: stream as unknown as NodeJS.WriteStream, written };
}

test('the live line is drawn every 100 ms however much happens, counts all eras, and is gone at the end', () => {
  const { stream, written } = terminal(80);
  const view = liveLine(stream, pc.createColors(false));
  for (let i = 0; i < 1_000; i += 1) view.update(attempt);
  view.update({ ...attempt, era: 'legacy', done: 18 });
  expect(written).toEqual([]);

  vi.advanceTimersByTime(250);
  expect(written).toHaveLength(2);
  const drawn = '███████████████░░░░░ 27/36  legacy: during_work #2 running  0 s';
  expect(stripVTControlCharacters(written[1] ?? '').trim()).toMatch(new RegExp(`^\\S ${drawn}$`));

  view.end();
  vi.advanceTimersByTime(1_000);
  expect(written.slice(2)).toEqual(['\r\x1b[2K']);
});

test('the live line never runs over the edge of a narrow terminal', () => {
  const { stream, written } = terminal(20);
  const view = liveLine(stream, pc.createColors(false));
  view.update(attempt);
  vi.advanceTimersByTime(100);
  view.end();
  expect(stripVTControlCharacters(written[0] ?? '').trim()).toHaveLength(19);
});

test('elsewhere only what matters has a line', () => {
  const { stream, written } = terminal(80);
  const view = plainLines(stream);
  view.update(attempt);
  view.update({ type: 'era', era: 'modern', offered: false });
  view.update({ ...attempt, state: 'done', done: 10 });
  view.end();
  expect(written).toEqual([
    'estop probe: modern: not offered by the server\n',
    'estop probe: 10/18 modern: during_work #2 done\n',
  ]);
});
