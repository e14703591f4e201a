/** Clients that lose a cancel on their own side, against a server that is sound. */
import { describe, expect, test } from 'vitest';
import { AMPLE, cell, client, ERAS, observations, probe, SHORT, server } from './broken/run.ts';

describe.concurrent('a client', () => {
  test('that never sends its cancel leaves its work to go on, and the boundary is told', async () => {
    const run = await probe(
      { command: server('sound'), ...SHORT, cases: ['during_work'] },
      await client('never-cancels'),
    );
    for (const era of ERAS) {
      const leaked = cell(run, 'during_work', era);
      expect([...observations(leaked)].sort()).toEqual(['committed-in-race', 'not-on-wire']);
      expect(leaked).toMatchObject({ verdict: 'leaked', boundary: 'left the caller, not seen on the wire' });
    }
  });

  test('that names the id with another type has cancelled nothing', async () => {
    const options = { ...SHORT, cases: ['during_work', 'after_commit'] as const };
    const run = await probe({ command: server('sound'), ...options }, await client('cancels-as-text'));
    for (const era of ERAS) {
      expect(cell(run, 'during_work', era)).toMatchObject({ verdict: 'leaked' });
      expect(observations(cell(run, 'during_work', era))).toContain('not-on-wire');
      expect(cell(run, 'after_commit', era)).toMatchObject({ verdict: 'unknown', outcomes: ['not-on-wire'] });
    }
  });

  test('that makes an aborted call again leaks by its second job', async () => {
    const run = await probe({ command: server('sound'), ...AMPLE, cases: ['during_work'] }, await client('retries'));
    for (const era of ERAS) {
      const revoked = cell(run, 'during_work', era);
      expect(revoked).toMatchObject({ verdict: 'leaked', outcomes: ['committed-after-signal'] });
      expect(revoked.attempts[0]?.stopMs).toBeGreaterThanOrEqual(0);
    }
  });
});
