/** Servers over HTTP, as authors build them of the bare SDKs: where their stop gets lost, and where it does not. */
import { describe, expect, test } from 'vitest';
import type { CaseName } from '../src/probe/cases/table.ts';
import type { Era } from '../src/probe/events.ts';
import { AMPLE, cell, client, httpServer, observations, probe, type Run, SHORT } from './broken/run.ts';

/** For a run in which a wait has to run out: these servers load both SDKs, and take longer to come up than others. */
const PATIENT = { ...SHORT, timeoutMs: 4_000 };

const ALL: readonly CaseName[] = ['baseline', 'held', 'before_work', 'during_work', 'after_commit', 'after_settle'];

/** Every case came out as it should, and nothing was observed but the stop. */
function expectSound(run: Run, era: Era, cases = ALL): void {
  for (const name of cases) {
    expect.soft(cell(run, name, era), `${name} in ${era}`).toMatchObject({ case: name, verdict: 'as expected' });
    const seen = name === 'during_work' ? ['stop-confirmed'] : [];
    expect.soft(observations(cell(run, name, era)), `${name} in ${era}`).toEqual(seen);
  }
  expect(run.result.eras.find((one) => one.era === era)).toMatchObject({ transport: 'http' });
}

/** The cancel crossed the wire, no handler heard of it, and the call was answered in full. */
function expectLost(run: Run, era: Era): void {
  for (const name of ['before_work', 'during_work'] as const) {
    const leaked = cell(run, name, era);
    expect.soft(leaked).toMatchObject({ verdict: 'leaked', boundary: 'reached the server, not the handler' });
    expect.soft(observations(leaked).sort()).toEqual(['answered-after-cancel', 'committed-in-race', 'lost-in-runtime']);
  }
  const late = cell(run, 'after_commit', era);
  expect.soft(late).toMatchObject({ verdict: 'unknown', outcomes: ['lost-in-runtime'] });
  expect.soft(observations(late)).toEqual(['lost-in-runtime', 'answered-after-cancel']);
}

// One after the other: with little time of their own, these must not also fight for the processor.
describe('a server of the bare SDKs', () => {
  test('v1, stateless: the cancel comes to a server that has no such call', async () => {
    const run = await probe({ ...httpServer('v1-stateless'), ...PATIENT });
    expectLost(run, 'legacy');
    expect(run.result.eras).toHaveLength(1);
    expect(run.result.notes[0]).toMatch(/^Not probed: the server could not be connected in the modern era: /);
  });

  test('v1, with sessions: stops', async () => {
    expectSound(await probe({ ...httpServer('v1-stateful'), ...AMPLE, era: 'legacy' }), 'legacy');
  });

  test('v1, with sessions and answers in JSON: stops', async () => {
    expectSound(await probe({ ...httpServer('v1-stateful-json'), ...AMPLE, era: 'legacy' }), 'legacy');
  });

  test('v2: its legacy leg loses the cancel, and on the modern era a closed stream stops the work', async () => {
    const run = await probe({ ...httpServer('v2-handler'), ...PATIENT });
    expectLost(run, 'legacy');
    expectSound(run, 'modern');
    const closed = run.lines.filter(({ event }) => event === 'stream_closed');
    const cancelled = (['before_work', 'during_work', 'after_commit'] as const).flatMap((name) =>
      cell(run, name, 'modern').attempts.map(({ testId }) => testId),
    );
    expect(closed.map(({ testId }) => testId).sort()).toEqual(cancelled.sort());
    expect(closed.every((line) => line.event === 'stream_closed' && line.by === 'client')).toBe(true);
  });

  test('v2, with answers in JSON: stops', async () => {
    expectSound(await probe({ ...httpServer('v2-handler-json'), ...AMPLE, era: 'modern' }), 'modern');
  });
});

describe.concurrent('the client of SDK v1', () => {
  const cases = ['before_work', 'during_work', 'after_commit', 'after_settle'] as const;

  test('with sessions: the work stops, and it cancels calls that have settled', async () => {
    const run = await probe({ ...httpServer('v1-stateful'), ...AMPLE, client: 'v1', cases });
    expect(run.result.eras).toMatchObject([{ era: 'legacy', client: '@modelcontextprotocol/sdk 1.32.2' }]);
    expectSound(run, 'legacy', ['before_work', 'during_work', 'after_commit']);
    expect(cell(run, 'after_settle', 'legacy').outcomes).toEqual(['signalled-after-settle']);
  });

  test('before the legacy leg of v2: lost', async () => {
    expectLost(await probe({ ...httpServer('v2-handler'), ...PATIENT, client: 'v1', cases }), 'legacy');
  });
});

describe.concurrent('what is broken is seen', () => {
  test('a client that never closes its streams has cancelled nothing on the modern era', async () => {
    const cases = ['during_work', 'after_commit'] as const;
    const run = await probe(
      { ...httpServer('v2-handler'), ...PATIENT, era: 'modern', cases },
      await client('never-closes'),
    );
    const leaked = cell(run, 'during_work', 'modern');
    expect(leaked).toMatchObject({ verdict: 'leaked', boundary: 'left the caller, not seen on the wire' });
    expect(observations(leaked).sort()).toEqual(['committed-in-race', 'not-on-wire']);
    expect(cell(run, 'after_commit', 'modern')).toMatchObject({ verdict: 'unknown', outcomes: ['not-on-wire'] });
    // It did say so, in the form that is none here.
    expect(run.lines.some((line) => line.event === 'wire' && line.method === 'notifications/cancelled')).toBe(true);
  });

  test('a client that cancels what has settled is noisy on the modern era too', async () => {
    const options = { ...httpServer('v2-handler'), ...AMPLE, era: 'modern', cases: ['after_settle'] } as const;
    const run = await probe(options, await client('cancels-settled'));
    expect(cell(run, 'after_settle', 'modern').outcomes).toEqual(['signalled-after-settle']);
  });

  test('a server that answers what was cancelled', async () => {
    const cases = ['before_work', 'during_work', 'after_commit'] as const;
    const run = await probe({ ...httpServer('v1-stateful', 'answers'), ...AMPLE, era: 'legacy', cases });
    for (const name of cases) {
      expect(cell(run, name, 'legacy')).toMatchObject({ verdict: 'noisy', outcomes: ['answered-after-cancel'] });
    }
  });

  test.for([
    ['v1-stateful', 'legacy'],
    ['v2-handler', 'modern'],
  ] as const)('a server that a cancel ends, %s, has not stopped its work', async ([door, era], { expect }) => {
    const cases = ['during_work', 'after_settle'] as const;
    const run = await probe({ ...httpServer(door, 'crashes'), ...AMPLE, era, cases });
    expect(cell(run, 'during_work', era)).toMatchObject({ verdict: 'unknown', outcomes: ['server-died'] });
    expect(cell(run, 'held', era)).toMatchObject({ verdict: 'as expected' });
    expect(cell(run, 'after_settle', era)).toMatchObject({ verdict: 'as expected' });
  });
});

describe.concurrent('a black box over HTTP', () => {
  const fetchUrl = { tool: 'fetch_url', args: { url: '{{work.url}}' } };

  test.for([
    ['v1-stateful', 'legacy'],
    ['v2-handler', 'modern'],
  ] as const)(
    '%s: its work is seen to stop, and the answer that was let go is not taken for noise',
    async ([door, era], { expect }) => {
      const run = await probe({ ...httpServer(door), ...AMPLE, ...fetchUrl, era });
      expect(cell(run, 'during_work', era)).toMatchObject({ verdict: 'as expected', outcomes: ['stopped'] });
      expect(cell(run, 'after_commit', era)).toMatchObject({
        verdict: 'as expected',
        outcomes: ['committed-then-quiet'],
      });
      expect(cell(run, 'after_settle', era).verdict).toBe('as expected');
    },
  );

  test('that loses the cancel leaks', async () => {
    const run = await probe({
      ...httpServer('v1-stateless'),
      ...PATIENT,
      ...fetchUrl,
      era: 'legacy',
      cases: ['during_work'],
    });
    expect(cell(run, 'during_work', 'legacy')).toMatchObject({ verdict: 'leaked' });
    expect(observations(cell(run, 'during_work', 'legacy'))).toContain('committed-in-race');
  });
});
