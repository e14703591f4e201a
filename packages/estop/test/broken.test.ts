/**
 * For every observation a subject that is broken so that it is seen, and that it is not seen where nothing is broken.
 *
 * The table has all of them, by its type: an observation that is added to the probe needs a subject here.
 */
import type { ProbeParts } from 'estop/probe';
import { beforeAll, describe, expect, test } from 'vitest';
import type { CaseName } from '../src/probe/cases/table.ts';
import type { ProbeOptions } from '../src/probe/options.ts';
import type { CellVerdict, ObservationName } from '../src/probe/result.ts';
import { AMPLE, cell, client, ERAS, observations, probe, type Run, SHORT, server, witness } from './broken/run.ts';

interface Proof {
  readonly broken: string;
  readonly options: Omit<ProbeOptions, 'out'>;
  readonly parts?: ProbeParts;
  /** Where it is seen, and what the cell comes to. */
  readonly seenIn: Partial<Record<CaseName, CellVerdict>>;
  readonly beside?: ObservationName;
}

const url = { url: '{{work.url}}' };

const PROOFS: Readonly<Record<Exclude<ObservationName, 'stop-confirmed'>, Proof>> = {
  'committed-after-signal': {
    broken: 'a handler that does nothing about its signal',
    options: { command: server('deaf'), ...SHORT, cases: ['before_work', 'during_work'] },
    seenIn: { before_work: 'leaked', during_work: 'leaked' },
  },
  'committed-in-race': {
    broken: 'a server whose own cancel handler took the place of the SDK',
    options: { command: server('loses-cancel'), ...SHORT, cases: ['before_work', 'during_work'] },
    seenIn: { before_work: 'leaked', during_work: 'leaked' },
    beside: 'lost-in-runtime',
  },
  'lost-in-runtime': {
    broken: 'the same server, cancelled when the effect is there already',
    options: { command: server('loses-cancel'), ...SHORT, cases: ['after_commit'] },
    seenIn: { after_commit: 'unknown' },
  },
  'not-on-wire': {
    broken: 'a client that never sends its cancel',
    options: { command: server('sound'), ...SHORT, cases: ['during_work', 'after_commit'] },
    parts: await client('never-cancels'),
    seenIn: { during_work: 'leaked', after_commit: 'unknown' },
  },
  'server-died': {
    broken: 'a server that a cancel ends',
    options: { command: server('crashes'), ...AMPLE, cases: ['before_work', 'during_work', 'after_commit'] },
    seenIn: { before_work: 'unknown', during_work: 'unknown', after_commit: 'unknown' },
  },
  'witness-disagrees': {
    broken: 'a witness that says stopped, and asked for the state says waiting',
    options: { command: server('sound'), ...AMPLE, cases: ['during_work'] },
    parts: witness('contradicts-itself'),
    seenIn: { during_work: 'unknown' },
  },
  'state-unreadable': {
    broken: 'a witness that answers no question',
    options: { command: server('sound'), ...SHORT, cases: ['before_work', 'during_work', 'after_commit'] },
    parts: witness('does-not-answer'),
    seenIn: { baseline: 'unknown', held: 'unknown', before_work: 'unknown', during_work: 'unknown' },
  },
  'answered-after-cancel': {
    broken: 'a server that answers what was cancelled',
    options: { command: server('answers-cancelled'), ...AMPLE, cases: ['before_work', 'during_work', 'after_commit'] },
    seenIn: { before_work: 'noisy', during_work: 'noisy', after_commit: 'noisy' },
  },
  'signalled-after-settle': {
    broken: 'a client that cancels what has settled',
    options: { command: server('sound'), ...AMPLE, cases: ['after_settle'] },
    parts: await client('cancels-settled'),
    seenIn: { after_settle: 'noisy' },
  },
  'control-failed': {
    broken: 'a deaf handler whose own request gives up after 800 ms',
    options: { command: server('own-timeout', '800'), ...AMPLE, cases: ['during_work'] },
    seenIn: { held: 'unknown', during_work: 'unknown' },
  },
  'not-visible': {
    broken: 'a server that has never heard of estop',
    options: { command: server('black-box'), ...SHORT, tool: 'fetch_url', args: url, cases: ['during_work'] },
    seenIn: { during_work: 'leaked' },
    beside: 'committed-in-race',
  },
};

let sound: Run;
beforeAll(async () => {
  sound = await probe({ command: server('sound'), ...AMPLE });
});

describe('where nothing is broken', () => {
  test.each(ERAS)('nothing is observed but the stop, in the %s era', (era) => {
    for (const name of ['baseline', 'held', 'before_work', 'after_commit', 'after_settle'] as const) {
      expect(cell(sound, name, era)).toMatchObject({ case: name, verdict: 'as expected' });
      expect(observations(cell(sound, name, era))).toEqual([]);
    }
    expect(cell(sound, 'during_work', era)).toMatchObject({ verdict: 'as expected', handlerEnds: ['acted'] });
    expect(observations(cell(sound, 'during_work', era))).toEqual(['stop-confirmed']);
    expect(sound.result.unknowns).toEqual([]);
  });
});

describe.concurrent('what is broken is seen', () => {
  test.for(Object.entries(PROOFS))('%s', async ([name, { options, parts, seenIn, beside }], { expect }) => {
    const run = await probe(options, parts);
    for (const era of ERAS) {
      for (const [where, verdict] of Object.entries(seenIn) as [CaseName, CellVerdict][]) {
        const found = cell(run, where, era);
        expect.soft(observations(found), `${where} in ${era}`).toContain(name);
        if (beside) expect.soft(observations(found), `${where} in ${era}`).toContain(beside);
        if (verdict !== 'noisy') expect.soft(observations(found), where).not.toContain('stop-confirmed');
        expect.soft(found.verdict, `${where} in ${era}`).toBe(verdict);
      }
    }
  });
});
