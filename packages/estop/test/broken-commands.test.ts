/** Servers that have never heard of estop, whose work is a command: when it has stopped, and when it has not. */
import { describe, expect, test } from 'vitest';
import type { AttemptLine } from '../src/probe/events.ts';
import { AMPLE, cell, ERAS, linesOf, observations, probe, type Run, SHORT, server, witness } from './broken/run.ts';

const run = { tool: 'run', args: { command: '{{work.command}}' } };
/** Longer than other runs in which a wait has to run out: each attempt starts a process of its own. */
const short = { ...SHORT, timeoutMs: 4_000, ...run, cases: ['during_work'] as const };
const ample = { ...AMPLE, ...run };

/** What the witness told of the attempts of `during_work`, in both eras. */
function toldOf(probed: Run): AttemptLine[] {
  const attempts = ERAS.flatMap((era) => cell(probed, 'during_work', era).attempts);
  return attempts.flatMap(({ testId }) => linesOf(probed.lines, testId)).filter(({ source }) => source === 'witness');
}

const eventsOf = (lines: readonly AttemptLine[]): string[] => [...new Set(lines.map(({ event }) => event))];

describe.concurrent('a black box that runs a command', () => {
  test.each(['kills-group', 'kills-plain'])('and %s is seen to stop it, and otherwise lets it be', async (way) => {
    const probed = await probe({ command: server('run-command', way), ...ample });
    for (const era of ERAS) {
      expect(cell(probed, 'baseline', era)).toMatchObject({ verdict: 'as expected', outcomes: ['completed'] });
      expect(cell(probed, 'held', era)).toMatchObject({ verdict: 'as expected', outcomes: ['survived'] });
      expect(cell(probed, 'during_work', era)).toMatchObject({ verdict: 'as expected', outcomes: ['stopped'] });
      expect(cell(probed, 'after_commit', era)).toMatchObject({
        verdict: 'as expected',
        outcomes: ['committed-then-quiet'],
      });
      expect(cell(probed, 'after_settle', era).verdict).toBe('as expected');
    }
    expect(eventsOf(toldOf(probed))).toEqual(['worker_started', 'worker_disconnected', 'worker_stopped']);
    expect(toldOf(probed)[0]).toMatchObject({ by: 'command', pid: expect.any(Number), startTime: expect.any(String) });
    expect(probed.result.notes.at(-1)).toBe(
      'The witness saw the control connection of each command with its process, by pid and start time. ' +
        'It saw nothing of other work, and nothing after the window.',
    );
  });

  test.each(['leaves', 'kills-shell', 'freezes'])('and %s has not stopped it', async (way) => {
    const probed = await probe({ command: server('run-command', way), ...short });
    for (const era of ERAS) {
      const found = cell(probed, 'during_work', era);
      expect(found.verdict).toBe('leaked');
      expect([...observations(found)].sort()).toEqual(['committed-in-race', 'not-visible']);
    }
    expect(eventsOf(toldOf(probed))).not.toContain('worker_stopped');
  });

  test('and runs-again is seen to commit, whatever stopped before', async () => {
    const probed = await probe({ command: server('run-command', 'runs-again'), ...short });
    for (const era of ERAS) {
      const found = cell(probed, 'during_work', era);
      expect(found.verdict).toBe('leaked');
      expect(observations(found)).not.toContain('stop-confirmed');
    }
    expect(eventsOf(toldOf(probed))).toEqual(expect.arrayContaining(['worker_stopped', 'worker_committed']));
  });

  test('and disconnects it is never seen to stop it: its process lives on', async () => {
    const probed = await probe({ command: server('run-command', 'disconnects'), ...short });
    for (const era of ERAS) {
      const found = cell(probed, 'during_work', era);
      expect(found.verdict).toBe('unknown');
      expect(observations(found)).toContain('state-unreadable');
      expect(probed.result.unknowns.map(({ what }) => what).join()).toMatch(
        /connection of job 1 ended, and its process \d+ was not seen to end/,
      );
    }
    const told = eventsOf(toldOf(probed));
    expect(told).toContain('worker_disconnected');
    expect(told).not.toContain('worker_committed');
  });

  test('and runs-elsewhere kills it, and that it ended cannot be known here', async () => {
    const probed = await probe({ command: server('run-command', 'runs-elsewhere'), ...short });
    for (const era of ERAS) {
      expect(cell(probed, 'held', era).verdict).toBe('as expected');
      const found = cell(probed, 'during_work', era);
      expect(found.verdict).toBe('unknown');
      expect(observations(found)).toContain('state-unreadable');
    }
    expect(probed.result.unknowns.map(({ what }) => what).join()).toContain(
      'whether its process did cannot be checked',
    );
    expect(probed.result.notes.join()).toMatch(/Of (\d+) of \1 commands no stop can be confirmed: no process \d+/);
    expect(eventsOf(toldOf(probed))).not.toContain('worker_stopped');
  });

  test('may name its work as a URL beside it', async () => {
    const args = { command: 'true {{work.url}} && {{ work.command }}' };
    const options = { ...ample, args, era: 'legacy', cases: ['baseline'] } as const;
    const probed = await probe({ command: server('run-command', 'kills-group'), ...options });
    expect(cell(probed, 'baseline', 'legacy').verdict).toBe('as expected');
  });
});

describe.concurrent('beside a black box that runs a command, a witness', () => {
  test('that says stopped and writes the marker is found out by the marker', async () => {
    const probed = await probe({ command: server('run-command', 'kills-plain'), ...short }, witness('writes-anyway'));
    for (const era of ERAS) {
      const found = cell(probed, 'during_work', era);
      expect(observations(found)).toContain('witness-disagrees');
      expect(found.verdict).toBe('leaked');
    }
  });

  test('that takes the end of a connection for a stop contradicts its own state', async () => {
    const probed = await probe(
      { command: server('run-command', 'disconnects'), ...short },
      witness('takes-the-connection'),
    );
    for (const era of ERAS) {
      const found = cell(probed, 'during_work', era);
      expect(found.verdict).toBe('unknown');
      expect(observations(found)).toContain('witness-disagrees');
    }
  });
});
