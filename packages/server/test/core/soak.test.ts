/** A million calls through one engine, in a process of its own: nothing of them is left. */
import { expect, test } from 'vitest';
import { reportOf } from '../support/report.ts';

const MB = 1024 * 1024;

test('a million calls with random cancels leave no memory, no timer and no count behind', {
  timeout: 120_000,
}, async () => {
  const report = (await reportOf('soak.mjs')) as { grown: number; stats: Record<string, number> } & Record<
    'stops' | 'ended',
    Record<string, number>
  >;
  const { ignoredCancels, ...counts } = report.stats;
  expect(report).toMatchObject({
    made: 1_000_000,
    timers: 0,
    rows: 0,
    places: { running: 0, waiting: 0, abandoned: 0, scopes: 0 },
  });
  expect(counts).toEqual({ queued: 0, running: 0, abandoned: 0, inFlight: 0, recorded: 0 });
  expect(report.grown).toBeLessThan(1 * MB);
  // It was no walk in the park: each kind of stop came, and many times.
  for (const kind of ['none', 'cancelled', 'deadline', 'overloaded']) {
    expect(report.stops[kind], kind).toBeGreaterThan(1_000);
  }
  expect(ignoredCancels).toBeGreaterThan(1_000);
});
