/** Servers that have never heard of estop: what can be seen of them by their work alone, and what cannot. */
import { describe, expect, test } from 'vitest';
import { exitCode } from '../src/report/exit-code.ts';
import { AMPLE, cell, ERAS, observations, probe, SHORT, server } from './broken/run.ts';

const fetchUrl = { tool: 'fetch_url', args: { url: '{{work.url}}' } };

describe.concurrent('a black box', () => {
  test('that forwards is seen to stop; what its handler saw is not, and that is said', async () => {
    const run = await probe({ command: server('black-box', 'forwards'), ...AMPLE, ...fetchUrl });
    for (const era of ERAS) {
      expect(cell(run, 'during_work', era)).toMatchObject({ verdict: 'as expected', outcomes: ['stopped'] });
      expect(cell(run, 'after_commit', era)).toMatchObject({ verdict: 'as expected', handlerEnds: ['unknown'] });
      expect(cell(run, 'before_work', era)).toMatchObject({ verdict: 'unknown', outcomes: ['not-visible'] });
    }
    expect(run.result.unknowns.map((unknown) => [unknown.era, unknown.case])).toEqual(
      ERAS.map((era) => [era, 'before_work']),
    );
    expect(run.result.notes.join()).toContain('The tool is a black box');
    expect(exitCode(run.result)).toBe(2);
  });

  test('that does not forward leaks, and it is not said that its handler had no signal', async () => {
    const options = { ...SHORT, ...fetchUrl, cases: ['during_work'] as const };
    const run = await probe({ command: server('black-box'), ...options });
    for (const era of ERAS) {
      const leaked = cell(run, 'during_work', era);
      expect([...observations(leaked)].sort()).toEqual(['committed-in-race', 'not-visible']);
      expect(leaked).toMatchObject({
        verdict: 'leaked',
        boundary: 'reached the server; what its handler saw is not visible',
      });
    }
    expect(exitCode(run.result)).toBe(1);
  });

  test('whose arguments do not name the work is refused before anything is started', async () => {
    for (const args of [undefined, { url: 'http://localhost/' }, { url: '{{test.id}}' }]) {
      const running = probe({ command: ['no-such-command'], tool: 'fetch_url', ...(args && { args }) });
      await expect(running).rejects.toThrow(TypeError);
      await expect(running).rejects.toThrow(
        /^estop probe: the work of the tool "fetch_url" .*\{\{work\.url\}\}.*\{\{work\.command\}\}/,
      );
    }
  });

  test('may name it deep in its arguments', async () => {
    const args = { url: '{{ work.url }}', options: [{ of: '{{test.id}}' }] };
    const options = { ...AMPLE, era: 'legacy', tool: 'fetch_url', cases: ['baseline'] } as const;
    const run = await probe({ command: server('black-box'), ...options, args });
    expect(cell(run, 'baseline', 'legacy').verdict).toBe('as expected');
  });
});
