/** What a run leaves: attempts that keep apart, a log that can be judged again, a link to the latest; and how long it takes. */
import { mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { probeServer } from 'estop/probe';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AttemptLine } from '../src/probe/events.ts';
import { AMPLE, linesOf, probe, readLog, server } from './broken/run.ts';

let out: string;
beforeAll(() => {
  out = mkdtempSync(join(tmpdir(), 'estop-runs-'));
});
afterAll(() => rmSync(out, { recursive: true, force: true }));

describe('attempts beside each other', () => {
  test('keep apart: each has its own call, its own handler, its own job and its own answer', async () => {
    const { result, lines } = await probe({ command: server('sound'), ...AMPLE, era: 'legacy', repeats: 4 });
    const attempts = result.eras.flatMap(({ cells }) => cells.flatMap((cell) => cell.attempts));
    expect(attempts).toHaveLength(24);

    const wireIds = new Set<unknown>();
    const invocations = new Set<string>();
    for (const { testId } of attempts) {
      const own = linesOf(lines, testId);
      const [id] = ids(own);
      expect(ids(own)).toEqual([id]);
      expect(new Set(own.flatMap((line) => ('invocation' in line ? [line.invocation] : []))).size).toBe(1);
      expect(own.filter(({ event }) => event === 'handler_started')).toHaveLength(1);
      expect(own.filter(({ event }) => event === 'worker_started').length).toBeLessThanOrEqual(1);
      wireIds.add(id);
      for (const line of own) if ('invocation' in line) invocations.add(line.invocation);
    }
    expect(wireIds.size).toBe(24);
    expect(invocations.size).toBe(24);
    // Beside each other, and not one after the other.
    expect(mostAtOnce(lines.filter((line): line is AttemptLine => line.testId !== undefined))).toBeGreaterThanOrEqual(
      12,
    );
  });
});

describe('the log', () => {
  test('is numbered without a gap, from the start of the run to its end', async () => {
    const { lines } = await probe({ command: server('sound'), ...AMPLE, cases: ['baseline'] });
    expect(lines.map(({ seq }) => seq)).toEqual(lines.map((_, n) => n + 1));
    expect(lines[0]?.event).toBe('run_started');
    // The processes are ended after it.
    const after = lines.slice(lines.findIndex(({ event }) => event === 'run_ended') + 1);
    expect(new Set(after.map(({ event }) => event))).toEqual(new Set(['subject_exited']));
  });

  test('latest is the last run, and the markers are beside the log', async () => {
    const options = { command: server('sound'), ...AMPLE, era: 'legacy', cases: ['baseline'], out } as const;
    const first = await probeServer(options);
    const second = await probeServer(options);
    expect(first.log).not.toBe(second.log);
    expect(realpathSync(join(out, 'latest'))).toBe(realpathSync(dirname(second.log)));
    expect(readdirSync(join(out, 'latest')).sort()).toEqual(['log.jsonl', 'markers']);
    const attempts = readLog(second.log).filter(({ event }) => event === 'attempt_started');
    expect(readdirSync(join(out, 'latest', 'markers'))).toEqual(attempts.map(({ testId }) => testId));
  });
});

test('five cases and their control, three times each, take less than 14 s in one era', async () => {
  const { result } = await probe({ command: server('sound'), era: 'modern' });
  expect(result.eras[0]?.cells.map(({ attempts }) => attempts.length)).toEqual(Array(6).fill(3));
  expect(result.eras[0]?.cells.map(({ verdict }) => verdict)).toEqual(Array(6).fill('as expected'));
  expect(result.durationMs).toBeLessThan(14_000);
});

/** The ids of the calls, their cancels and their answers; each once. */
function ids(lines: readonly AttemptLine[]): unknown[] {
  const found = lines.flatMap((line) => (line.event === 'wire' ? [line.cancels, line.wireId] : []));
  return [...new Set(found.filter((id) => id !== undefined))];
}

function mostAtOnce(lines: readonly AttemptLine[]): number {
  let now = 0;
  let most = 0;
  for (const { event } of lines) {
    if (event === 'attempt_started') now += 1;
    if (event === 'server_checked') now -= 1;
    most = Math.max(most, now);
  }
  return most;
}
