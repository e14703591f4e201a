import { getEventListeners } from 'node:events';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLog } from '../src/probe/log.ts';
import { makeRunDir } from '../src/probe/run-dir.ts';
import { readLiveLog, readLog } from './broken/run.ts';
import { tempDir, tempLog } from './probe-fixture.ts';

const A = 't-aaaaaaaaaaaaaaaa';
const B = 't-bbbbbbbbbbbbbbbb';

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

describe('the log', () => {
  it('can be read while it is written: half a line is not there yet, and is a fault only when the run is over', () => {
    const log = tempLog();
    log.write('harness', { event: 'run_ended' });
    appendFileSync(log.file, '{"event":"gate_re');
    expect(readLiveLog(log.file).map(({ event }) => event)).toEqual(['run_ended']);
    expect(() => readLog(log.file)).toThrow('is not whole');
  });

  it('has a line on the disk when write returns', () => {
    const log = tempLog();
    log.write('harness', { testId: A, event: 'client_sent' }, '42');
    log.write('harness', { event: 'run_ended' });
    const [first, second] = readFileSync(log.file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(first).toEqual({ seq: 1, at: '42', source: 'harness', testId: A, event: 'client_sent' });
    expect(second).toMatchObject({ seq: 2, at: expect.stringMatching(/^\d+$/), event: 'run_ended' });
    expect(log.lines).toEqual([first, second]);
  });

  it('knows the lines of each attempt', () => {
    const log = tempLog();
    log.write('harness', { testId: A, event: 'client_sent' });
    log.write('harness', { testId: B, event: 'client_sent' });
    log.write('harness', { testId: A, event: 'client_abort' });
    expect(log.of(A).map((line) => line.seq)).toEqual([1, 3]);
    expect(log.of('t-unknown')).toEqual([]);
  });

  it('takes no line once it is closed, and does not throw', () => {
    const log = openLog(join(tempDir(), 'log.jsonl'));
    log.close();
    log.close();
    log.write('harness', { event: 'run_ended' });
    expect(log.lines).toEqual([]);
    expect(readFileSync(log.file, 'utf8')).toBe('');
  });
});

describe('waiting on the log', () => {
  it('is over at once when the line is there', async () => {
    const log = tempLog();
    log.write('harness', { testId: A, event: 'client_sent' });
    expect(await log.waitFor(A, (line) => line.event === 'client_sent', 0)).toBe(true);
  });

  it('is over when the line comes, and leaves no timer and no listener', async () => {
    const log = tempLog();
    const run = new AbortController();
    const before = timers();
    const waits = Array.from({ length: 10 }, () =>
      log.waitFor(A, (line) => line.event === 'client_abort', 60_000, run.signal),
    );
    log.write('harness', { testId: B, event: 'client_abort' });
    log.write('harness', { testId: A, event: 'client_sent' });
    log.write('harness', { testId: A, event: 'client_abort' });
    expect(await Promise.all(waits)).toEqual(Array(10).fill(true));
    expect(timers()).toBe(before);
    expect(getEventListeners(run.signal, 'abort')).toEqual([]);
  });

  it('ends in false after the bounded wait', async () => {
    expect(await tempLog().waitFor(A, () => true, 10)).toBe(false);
  });

  it('rejects with the reason when the run is aborted, before or meanwhile', async () => {
    const log = tempLog();
    const run = new AbortController();
    const before = timers();
    const reason = new Error('interrupted');
    const waiting = log.waitFor(A, () => true, 60_000, run.signal);
    run.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(log.waitFor(A, () => true, 60_000, run.signal)).rejects.toBe(reason);
    expect(timers()).toBe(before);
  });
});

describe("a run's directory", () => {
  it('is its own, also for runs that start in the same millisecond', () => {
    const out = join(tempDir(), 'estop-runs');
    const runs = Array.from({ length: 20 }, () => makeRunDir(out));
    expect(new Set(runs.map((run) => run.dir)).size).toBe(20);
    for (const run of runs) {
      expect(basename(run.dir)).toMatch(/^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z(-\d+)?$/);
      expect(existsSync(run.markers)).toBe(true);
    }
  });

  it('is what `latest` points to, and nothing temporary is left', () => {
    const out = join(tempDir(), 'estop-runs');
    makeRunDir(out);
    const last = makeRunDir(out);
    expect(readlinkSync(join(out, 'latest'))).toBe(basename(last.dir));
    expect(readdirSync(out)).toHaveLength(4);
  });

  it('is made without the link where there is a real `latest`', () => {
    const out = tempDir();
    mkdirSync(join(out, 'latest', 'precious'), { recursive: true });
    const run = makeRunDir(out);
    expect(existsSync(run.markers)).toBe(true);
    expect(existsSync(join(out, 'latest', 'precious'))).toBe(true);
    expect(readdirSync(out).filter((name) => name.startsWith('.latest'))).toEqual([]);
  });

  it("keeps git away, and a person's own .gitignore", () => {
    const out = tempDir();
    makeRunDir(out);
    expect(readFileSync(join(out, '.gitignore'), 'utf8')).toBe('*\n');
    writeFileSync(join(out, '.gitignore'), 'mine\n');
    makeRunDir(out);
    expect(readFileSync(join(out, '.gitignore'), 'utf8')).toBe('mine\n');
  });
});
