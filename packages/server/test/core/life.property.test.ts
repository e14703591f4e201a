/**
 * The invariants of DESIGN.md, by their names, under whatever can happen to calls in any order, also in one turn: see
 * `support/life.ts` for what happens, and what must be true after each step.
 *
 * `ESTOP_INTERLEAVINGS=5000000` makes it longer, `ESTOP_SEED` makes it another.
 */
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { live, optionsOf, type Plan, planOf, type Step, shrunk, stepOf } from '../support/life.ts';
import { processEvents } from '../support/process-events.ts';
import { randomOf } from '../support/random.ts';
import { turns } from '../support/waiting.ts';

const INTERLEAVINGS = Number(process.env['ESTOP_INTERLEAVINGS'] ?? 100_000);
const SEED = Number(process.env['ESTOP_SEED'] ?? 1);

test(`the invariants of a call hold in ${INTERLEAVINGS} interleavings`, {
  timeout: 60_000 + INTERLEAVINGS,
}, async () => {
  const events = processEvents();
  // A third of the time would go into the stacks of reasons; a failure is told by its steps.
  const { stackTraceLimit } = Error;
  onTestFinished(() => {
    Error.stackTraceLimit = stackTraceLimit;
  });
  Error.stackTraceLimit = 0;
  let lived = 0;
  let steps = 0;
  for (; lived < INTERLEAVINGS; lived += 1) {
    const plan = planOf(randomOf(SEED * 1_000_003 + lived));
    try {
      await live(plan);
    } catch (error) {
      throw await shrunk(plan, error);
    }
    steps += plan.steps.length;
    // No losing promise without a rejection handler.
    if (events.unhandled.length > 0) throw await shrunk(plan, events.unhandled[0]);
  }
  await turns();
  expect(events.unhandled).toEqual([]);
  expect(lived).toBe(INTERLEAVINGS);
  expect(steps).toBeGreaterThan(lived * 8);
});

test('the invariants of a call hold in whatever fast-check comes up with, looked at twice as hard', async () => {
  const events = processEvents();
  const nat = fc.nat(59);
  const four = fc.tuple(nat, nat, nat, nat);
  const step = fc.tuple(fc.nat(999), four).map(([kind, numbers]) => stepOf(kind, numbers));
  await fc.assert(
    fc.asyncProperty(
      four.map(optionsOf),
      fc.array(step, { minLength: 1, maxLength: 24, size: 'max' }),
      (options, steps) => live({ options, steps }, true),
    ),
    { numRuns: 2_000 },
  );
  await turns();
  expect(events.unhandled).toEqual([]);
});

/** What has failed once. */
const PAST: readonly (readonly [what: string, options: Plan['options'], steps: readonly Step[]])[] = [
  [
    'a resume without a pause arms no second timer, and gives no time',
    {},
    [
      {
        do: 'start',
        scope: 'connection:1',
        id: 7,
        look: 'no',
        timeoutMs: 5,
        gate: 'none',
        extended: false,
      },
      { do: 'time', n: 1 },
      { do: 'resume', which: 0 },
      { do: 'time', n: 5 },
    ],
  ],
];

test.each(PAST)('the invariants of a call hold: %s', async (_what, options, steps) => {
  await live({ options, steps }, true);
});
