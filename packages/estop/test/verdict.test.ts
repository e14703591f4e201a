import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { observe, worstGrade } from '../src/probe/judge/observations.ts';
import { unknownsOf } from '../src/probe/judge/unknowns.ts';
import { cellOf, cellsOf, notVisibleCell, verdictOf, withControl } from '../src/probe/judge/verdict.ts';
import { type AttemptResult, GRADES, type Grade, type Observation, type ObservationName } from '../src/probe/result.ts';

/** The result of an attempt with these observations; without any, as expected. */
function result(attempt: number, ...seen: (ObservationName | Observation)[]): AttemptResult {
  const observations = seen.map((one) => (typeof one === 'string' ? observe(one) : one));
  const grade = worstGrade(observations.map((observation) => observation.grade));
  const worst = observations.find((observation) => observation.grade === grade);
  const outcome = worst && worst.name !== 'stop-confirmed' ? worst.name : 'stopped';
  return { testId: `test-${attempt}`, attempt, grade, outcome, observations, handlerEnd: 'acted' };
}

const confirmed = (attempt: number, heldMs = 40): AttemptResult => ({ ...result(attempt, 'stop-confirmed'), heldMs });
const leaked = (attempt: number) => result(attempt, 'committed-after-signal');
const lost = (attempt: number) => result(attempt, 'lost-in-runtime');
const survived = { ...result(1), outcome: 'survived', heldMs: 310 } as const;

const cell = (...attempts: AttemptResult[]) => cellOf({ case: 'during_work', attempts, invalidPhases: 0 });

describe('the verdict of a cell', () => {
  test('is the grade on which its attempts agree', () => {
    for (const grade of GRADES) expect(verdictOf([grade, grade, grade])).toBe(grade);
  });

  test('is raced when attempts with known grades differ', () => {
    expect(verdictOf(['as expected', 'leaked'])).toBe('raced');
    expect(verdictOf(['noisy', 'as expected'])).toBe('raced');
  });

  test('is never better than unknown beside an unknown attempt, and leaked stays leaked', () => {
    expect(verdictOf(['as expected', 'unknown'])).toBe('unknown');
    expect(verdictOf(['noisy', 'unknown'])).toBe('unknown');
    expect(verdictOf(['leaked', 'unknown'])).toBe('leaked');
    expect(verdictOf(['leaked', 'as expected', 'unknown'])).toBe('raced');
  });

  test('is invalid when no attempt reached its phase', () => {
    expect(cellOf({ case: 'during_work', attempts: [], invalidPhases: 6 })).toMatchObject({
      verdict: 'invalid',
      outcomes: [],
      boundary: '',
      invalidPhases: 6,
    });
  });

  test('lists differing outcomes with equal grades, without calling them a race', () => {
    const both = cell(result(1, 'server-died'), lost(2), lost(3));

    expect(both.verdict).toBe('unknown');
    expect(both.outcomes).toEqual(['lost-in-runtime', 'server-died']);
  });

  test('names both outcomes of a race, the most frequent first', () => {
    expect(cell(leaked(1), confirmed(2), confirmed(3))).toMatchObject({
      verdict: 'raced',
      outcomes: ['stopped', 'committed-after-signal'],
    });
  });

  test('says of the worst attempt where the stop was last seen', () => {
    expect(cell(confirmed(1), leaked(2), lost(3)).boundary).toBe('reached the handler, not the work');
    expect(cell(confirmed(1), lost(2)).boundary).toBe('reached the server, not the handler');
    expect(cell(confirmed(1)).boundary).toBe('reached the work');
    expect(cell(result(1, 'server-died')).boundary).toBe('');
    expect(cell(result(1, 'server-died'), lost(2)).boundary).toBe('reached the server, not the handler');
  });

  test('takes the boundary of a commit in the race from the observation beside it', () => {
    const race = observe('committed-in-race', { lastSeen: 'wire' });

    expect(cell(result(1, race, 'not-visible')).boundary).toBe(
      'reached the server; what its handler saw is not visible',
    );
  });
});

describe('the control', () => {
  const failedControl = result(1, 'control-failed');

  test('leaves the attempts alone when all of it survived', () => {
    expect(withControl([confirmed(1), leaked(2)], [survived])).toEqual([confirmed(1), leaked(2)]);
  });

  test('takes the green from during_work when any of it failed, and leaves a leak a leak', () => {
    const judged = withControl([confirmed(1), leaked(2), lost(3)], [survived, failedControl]);

    expect(judged.map(({ outcome }) => outcome)).toEqual([
      'control-failed',
      'committed-after-signal',
      'lost-in-runtime',
    ]);
    expect(judged[0]).toMatchObject({ grade: 'unknown', observations: [{ name: 'control-failed' }] });
  });

  test('takes a confirmed stop back from a noisy attempt too: that its effect is right is not known', () => {
    const [noisy] = withControl([result(1, 'answered-after-cancel', 'stop-confirmed')], [failedControl]);

    expect(noisy).toMatchObject({ grade: 'unknown', outcome: 'control-failed' });
    expect(noisy?.observations.map(({ name }) => name)).toEqual(['control-failed', 'answered-after-cancel']);
  });

  test('a control that was held no longer than the stopped work shows nothing', () => {
    const long = { ...survived, attempt: 2, heldMs: 5_000 };

    expect(withControl([confirmed(1, 310)], [survived, long])[0]).toMatchObject({
      grade: 'unknown',
      outcome: 'control-failed',
    });
    expect(withControl([confirmed(1, 309.9)], [survived, long])[0]).toMatchObject({ grade: 'as expected' });
  });

  test('a control that was never judged is none', () => {
    expect(withControl([confirmed(1)], [])[0]?.grade).toBe('unknown');
  });

  test('reaches during_work alone, and cells come in the order of the cases', () => {
    const cells = cellsOf([
      { case: 'after_commit', attempts: [{ ...result(1), outcome: 'committed-then-quiet' }], invalidPhases: 0 },
      { case: 'during_work', attempts: [confirmed(1)], invalidPhases: 1 },
      { case: 'held', attempts: [failedControl], invalidPhases: 0 },
    ]);

    expect(cells.map((one) => [one.case, one.verdict])).toEqual([
      ['held', 'unknown'],
      ['during_work', 'unknown'],
      ['after_commit', 'as expected'],
    ]);
    expect(cells[1]?.invalidPhases).toBe(1);
  });
});

describe('the unknowns', () => {
  const era = { era: 'legacy', revision: '2025-11-25', transport: 'stdio' } as const;
  const unknowns = (...cells: ReturnType<typeof cellOf>[]) => unknownsOf({ ...era, cells }, 2_000);

  test('a cell in which all was seen leaves none', () => {
    expect(unknowns(cell(confirmed(1)), cell(leaked(1)))).toEqual([]);
  });

  test('say era, revision, transport, case, boundary, how long was watched, and what is open', () => {
    expect(unknowns(cell(lost(1), lost(2)))).toEqual([
      {
        era: 'legacy',
        revision: '2025-11-25',
        transport: 'stdio',
        case: 'during_work',
        boundaryLastSeen: 'reached the server, not the handler',
        watchedMs: 2_000,
        what: 'Whether the server found no call with that id, or the listener in the handler stayed silent.',
      },
    ]);
  });

  test('name the state that could not be read', () => {
    const unread = observe('state-unreadable', { shows: 'The marker could not be read (EACCES).' });

    expect(unknowns(cell(result(1, unread), result(2, 'server-died')))[0]?.what).toBe(
      'The marker could not be read (EACCES); whether the work was stopped, or only lost its server.',
    );
  });

  test('are not dropped beside a leak', () => {
    const race = observe('committed-in-race', { lastSeen: 'wire', firstNotSeen: 'handler' });

    expect(unknowns(cell(result(1, race, 'lost-in-runtime')))).toHaveLength(1);
  });

  test('have the cells of which nothing was judged', () => {
    const invalid = cellOf({ case: 'during_work', attempts: [], invalidPhases: 6 });
    const blackBox = notVisibleCell('before_work');

    expect(blackBox).toMatchObject({ verdict: 'unknown', outcomes: ['not-visible'] });
    expect(unknowns(invalid, blackBox).map(({ what }) => what)).toEqual([
      'Its phase (the worker has started) was not reached in any of 6 attempts, so nothing was judged.',
      'Whether the cancel reached the handler.',
    ]);
  });
});

describe('whatever the attempts are', () => {
  const seen: fc.Arbitrary<ObservationName[]> = fc.constantFrom<ObservationName[]>(
    ['stop-confirmed'],
    ['answered-after-cancel', 'stop-confirmed'],
    ['lost-in-runtime'],
    ['server-died'],
    ['not-on-wire'],
    ['committed-after-signal'],
    ['committed-in-race', 'not-visible'],
  );
  const attempts = (minLength = 0) =>
    fc.array(seen, { minLength, maxLength: 5 }).map((all) => all.map((names, i) => result(i + 1, ...names)));
  const shuffled = <T>(values: readonly T[]) => fc.shuffledSubarray([...values], { minLength: values.length });

  test('the verdict does not depend on the order in which attempts are given', () => {
    fc.assert(
      fc.property(
        attempts().chain((given) => fc.tuple(fc.constant(given), shuffled(given))),
        ([given, mixed]) => {
          expect(cell(...mixed)).toEqual(cell(...given));
        },
      ),
    );
  });

  test('a cell is as expected only when every attempt is', () => {
    fc.assert(
      fc.property(attempts(1), (given) => {
        const green = given.every(({ grade }) => grade === 'as expected');
        expect(cell(...given).verdict === 'as expected').toBe(green);
      }),
    );
  });

  test('a leak is never hidden: the cell is leaked or raced', () => {
    fc.assert(
      fc.property(attempts(1), (given) => {
        fc.pre(given.some(({ grade }) => grade === 'leaked'));
        expect(['leaked', 'raced']).toContain(cell(...given).verdict);
      }),
    );
  });

  test('without a control that survived, nothing in during_work is better than unknown', () => {
    fc.assert(
      fc.property(attempts(1), (given) => {
        const [judged] = cellsOf([{ case: 'during_work', attempts: given, invalidPhases: 0 }]);
        expect(['leaked', 'unknown'] satisfies Grade[]).toContain(judged?.verdict);
      }),
    );
  });

  test('every cell with something unknown is among the unknowns', () => {
    fc.assert(
      fc.property(attempts(), (given) => {
        const made = cell(...given);
        const open =
          given.length === 0 || given.some((one) => one.observations.some(({ grade }) => grade === 'unknown'));
        const listed = unknownsOf({ era: 'modern', revision: '2026-07-28', transport: 'stdio', cells: [made] }, 2_000);
        expect(listed).toHaveLength(open ? 1 : 0);
        for (const { what } of listed) expect(what).toMatch(/^[A-Z].+\.$/);
      }),
    );
  });
});
