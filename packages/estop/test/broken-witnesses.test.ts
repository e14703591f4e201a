/** Witnesses that lie, are silent or die, beside a server that is sound: nothing becomes green by them. */
import { describe, expect, test } from 'vitest';
import { cell, ERAS, observations, probe, SHORT, server, witness } from './broken/run.ts';

const options = { command: server('sound'), ...SHORT, cases: ['during_work'] as const };

describe.concurrent('a witness', () => {
  test('that says stopped and writes the marker is found out by the marker', async () => {
    const run = await probe(options, witness('writes-anyway'));
    for (const era of ERAS) {
      const found = cell(run, 'during_work', era);
      expect(observations(found)).toContain('witness-disagrees');
      expect(observations(found)).not.toContain('stop-confirmed');
      // The marker is the effect, whoever wrote it.
      expect(found.verdict).toBe('leaked');
    }
  });

  test('that dies in the middle leaves the state unreadable, and the run ends', async () => {
    const run = await probe({ ...options, era: 'legacy' }, witness('dies'));
    expect(cell(run, 'during_work', 'legacy')).toMatchObject({ verdict: 'unknown', outcomes: ['state-unreadable'] });
    expect(cell(run, 'held', 'legacy').verdict).not.toBe('as expected');
    expect(run.result.unknowns.map((unknown) => unknown.case)).toEqual(['held', 'during_work']);
  });

  test('that does not start is a failure in one sentence', async () => {
    const running = probe(options, witness('never-ready'));
    await expect(running).rejects.toMatchObject({
      name: 'ProbeFailure',
      message: 'estop probe: the witness did not start: it ended with code 9',
    });
  });
});
