/** Servers whose stop gets lost, comes too late, or only looks like one; and one that is slow and sound. */
import { describe, expect, test } from 'vitest';
import { AMPLE, cell, ERAS, observations, probe, SHORT, server } from './broken/run.ts';

describe.concurrent('a handler that does not forward', () => {
  test('leaks during its work, and before it nothing starts', async () => {
    const run = await probe({ command: server('does-not-forward'), ...SHORT, cases: ['before_work', 'during_work'] });
    for (const era of ERAS) {
      const leaked = cell(run, 'during_work', era);
      expect(leaked).toMatchObject({ verdict: 'leaked', boundary: 'reached the handler, not the work' });
      expect(observations(leaked)).toEqual(['committed-after-signal']);
      expect(leaked.handlerEnds).toEqual(['acted']);
      expect(cell(run, 'before_work', era)).toMatchObject({ verdict: 'as expected', outcomes: ['not-started'] });
    }
  });

  test('every other time is raced, and both outcomes are told', async () => {
    const options = { ...SHORT, repeats: 2, cases: ['during_work'] as const };
    const run = await probe({ command: server('every-other-time'), ...options });
    for (const era of ERAS) {
      const raced = cell(run, 'during_work', era);
      expect(raced.verdict).toBe('raced');
      expect([...raced.outcomes].sort()).toEqual(['committed-after-signal', 'stopped']);
    }
  });
});

describe.concurrent('a server that loses itself with the stop', () => {
  test('by spinning, is never a server that stopped its work', async () => {
    const run = await probe({ command: server('spins'), ...SHORT, era: 'legacy', cases: ['during_work'] });
    const dead = cell(run, 'during_work', 'legacy');
    expect(dead).toMatchObject({ verdict: 'unknown', outcomes: ['server-died'] });
    // The witness did see the work end.
    expect(dead.attempts[0]?.stopMs).toBeGreaterThanOrEqual(0);
  });

  test('by a crash, costs the attempts beside it nothing: they are made again alone', async () => {
    const run = await probe({ command: server('crashes'), ...AMPLE, era: 'legacy' });
    for (const name of ['held', 'after_settle'] as const) {
      expect(cell(run, name, 'legacy')).toMatchObject({ verdict: 'as expected' });
    }
    expect(cell(run, 'during_work', 'legacy')).toMatchObject({ verdict: 'unknown', outcomes: ['server-died'] });
    expect(run.lines.filter(({ event }) => event === 'rerun_alone')).toHaveLength(5);
  });
});

// One after the other: with little time of their own, these must not also fight for the processor.
describe('a deaf handler whose own request gives up', () => {
  test.for(['250', '800'])('after %s ms is given away by the control', async (ms, { expect }) => {
    const command = server('own-timeout', ms);
    const run = await probe({ command, ...AMPLE, era: 'legacy', repeats: 2, cases: ['during_work'] });
    expect(cell(run, 'held', 'legacy').verdict).toBe('unknown');
    expect(observations(cell(run, 'held', 'legacy'))).toContain('control-failed');
    expect(cell(run, 'during_work', 'legacy')).toMatchObject({ verdict: 'unknown', outcomes: ['control-failed'] });
  });

  test('when its calls also wait for each other, is given away all the same', async () => {
    const command = server('own-timeout', '600', 'one-at-a-time');
    const run = await probe({ command, ...SHORT, era: 'legacy', cases: ['during_work'] });
    expect(cell(run, 'during_work', 'legacy')).toMatchObject({ verdict: 'unknown', outcomes: ['control-failed'] });
  });
});

describe.concurrent('work that is started again', () => {
  test('by the handler, revokes the stop that was seen', async () => {
    const run = await probe({ command: server('retries'), ...AMPLE, cases: ['during_work'] });
    for (const era of ERAS) {
      const revoked = cell(run, 'during_work', era);
      expect(revoked).toMatchObject({ verdict: 'leaked', outcomes: ['committed-after-signal'] });
      expect(revoked.attempts[0]?.stopMs).toBeGreaterThanOrEqual(0);
    }
  });

  test.for([
    ['after the call has ended', 'soon'],
    ['after its window, while the run goes on', 'after-window'],
  ])('%s, revokes it too', async ([, when = ''], { expect }) => {
    const command = server('retries-late', when);
    const run = await probe({ command, ...AMPLE, windowMs: 1_500, cases: ['during_work'] });
    for (const era of ERAS) {
      const revoked = cell(run, 'during_work', era);
      expect(revoked.verdict).toBe('leaked');
      expect(revoked.attempts[0]?.stopMs).toBeGreaterThanOrEqual(0);
    }
  });
});

describe.concurrent('progress after the cancel', () => {
  const cases = ['after_commit'] as const;

  test('is noise from the bare SDK', async () => {
    const run = await probe({ command: server('reports-progress'), ...AMPLE, cases });
    for (const era of ERAS) {
      expect(cell(run, 'after_commit', era)).toMatchObject({ verdict: 'noisy', outcomes: ['answered-after-cancel'] });
    }
  });

  test('does not leave a server behind protect', async () => {
    const run = await probe({ command: server('reports-progress-protected'), ...AMPLE, cases });
    for (const era of ERAS) expect(cell(run, 'after_commit', era).verdict).toBe('as expected');
  });
});

describe.concurrent('what is no leak', () => {
  test('one call at a time: what could not overlap is made again alone, and counted', async () => {
    const run = await probe({ command: server('one-at-a-time'), ...SHORT, timeoutMs: 1_500 });
    for (const era of ERAS) {
      const { cells = [] } = run.result.eras.find((one) => one.era === era) ?? {};
      expect(cells.map(({ verdict }) => verdict)).toEqual(Array(6).fill('as expected'));
      expect(cells.reduce((sum, { invalidPhases }) => sum + invalidPhases, 0)).toBeGreaterThan(0);
    }
    expect(run.result.notes.join()).toContain('did not reach their phase');
  });

  test('a handler that runs on when its work was closed: the stop counts, and how it ended is told', async () => {
    const run = await probe({ command: server('runs-on'), ...AMPLE, cases: ['during_work'] });
    for (const era of ERAS) {
      expect(cell(run, 'during_work', era)).toMatchObject({ verdict: 'as expected', handlerEnds: ['ran on'] });
    }
  });
});

test('a tool that answers and does no work is a broken baseline', async () => {
  const running = probe({ command: server('does-nothing'), ...AMPLE });
  await expect(running).rejects.toMatchObject({
    name: 'ProbeFailure',
    message: expect.stringContaining('no marker appeared: the work did not come to the witness'),
  });
});
