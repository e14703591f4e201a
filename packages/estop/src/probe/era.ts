/**
 * All attempts in one era: the baseline first, then the rest beside each other, then again alone what needs it.
 *
 * Attempts may overlap, so that a run takes seconds. Where the server died or did not answer, or a phase was not
 * reached, overlapping may be to blame: those attempts are made again, each in a fresh process with nothing beside it.
 */
import { Attempt, type AttemptState } from './attempt.ts';
import { CASE_BY_NAME } from './cases/index.ts';
import { CASES, type CaseName } from './cases/table.ts';
import { createWaits } from './cases/waits.ts';
import type { Harness } from './harness.ts';
import { baselineProblem, isInvalid, judge } from './judge/judge.ts';
import { cellsOf, notVisibleCell } from './judge/verdict.ts';
import { type AttemptResult, type EraResult, ProbeFailure } from './result.ts';
import { openSession, type Session } from './subject/session.ts';

/** How often an attempt whose phase was not reached is made again, alone. */
const TRIES_ALONE = 2;
/** Fresh processes at a time. */
const PROCESSES = 4;

/** One planned attempt, and the tries that were made at it. */
interface Slot {
  readonly case: CaseName;
  readonly attempt: number;
  tries: Attempt[];
}

/**
 * @returns what judges the era, to be called when all that can come late has had its time, and before `session` is
 *   closed: it stays the caller's
 * @throws ProbeFailure for a broken baseline; the run's reason when it was interrupted
 */
export async function runEra(harness: Harness, session: Session): Promise<() => EraResult> {
  const { era } = session;
  const slots = plan(harness);
  const waits = createWaits();
  let done = 0;

  const start = async (slot: Slot, on: Session, alone: boolean): Promise<Attempt> => {
    const onState = (state: AttemptState): void => {
      if (state === 'done') done += 1;
      const { case: name, attempt } = slot;
      harness.tell({ type: 'attempt', era, case: name, attempt, state, done, planned: slots.length });
    };
    const attempt = new Attempt(harness, on, {
      case: CASE_BY_NAME[slot.case],
      attempt: slot.attempt,
      alone,
      waits,
      onState,
    });
    slot.tries.push(attempt);
    await attempt.run();
    return attempt;
  };

  const startAlone = async (slot: Slot, because: string): Promise<void> => {
    harness.log.write('harness', { event: 'rerun_alone', case: slot.case, because });
    const fresh = await openSession(harness, era);
    try {
      const attempt = await start(slot, fresh, true);
      attempt.end();
    } finally {
      await fresh.close();
    }
  };

  const [first, ...others] = slots;
  if (first === undefined) throw new Error('estop: a run without a baseline was planned');
  const baseline = await start(first, session, false);
  const problem = baselineProblem(baseline.lines);
  if (problem !== undefined)
    throw new ProbeFailure(`estop probe: the baseline is broken: ${problem}`, harness.log.file);

  await all(others.map((slot) => start(slot, session, false)));

  if (others.some((slot) => serverFailed(slot))) {
    // Which of the attempts beside each other did it cannot be told; none of them counts.
    done = 1;
    for (const slot of others) slot.tries = [];
    await alone(others, (slot) => startAlone(slot, 'the server died, or did not answer, in an attempt beside it'));
  }
  for (let round = 0; round < TRIES_ALONE; round++) {
    const missed = others.filter((slot) => !isValid(slot));
    if (missed.length === 0) break;
    const late = missed.some((slot) => slot.case === 'during_work');
    // A control that was held before the work was, was held without knowing for how long.
    const controls = others.filter((slot) => late && slot.case === 'held' && isValid(slot));
    await alone(missed, (slot) => startAlone(slot, 'its phase was not reached'));
    done -= controls.length;
    await pool(controls, (slot) => startAlone(slot, 'the work of during_work was held after it'));
  }

  return () => resultOf(harness, session, slots);
}

/** The baseline first: it decides whether the rest is worth anything. */
function plan({ cases, repeats, blackBox }: Harness): Slot[] {
  const names = cases.filter((name) => !(blackBox && name === 'before_work'));
  const slots = names.flatMap((name) =>
    Array.from({ length: repeats }, (_, n): Slot => ({ case: name, attempt: n + 1, tries: [] })),
  );
  return slots.sort((a, b) => Number(b.case === 'baseline') - Number(a.case === 'baseline'));
}

/** The control last: it is held for what the others were held. */
async function alone(slots: readonly Slot[], make: (slot: Slot) => Promise<void>): Promise<void> {
  await pool(
    slots.filter((slot) => slot.case !== 'held'),
    make,
  );
  await pool(
    slots.filter((slot) => slot.case === 'held'),
    make,
  );
}

async function pool(slots: readonly Slot[], make: (slot: Slot) => Promise<void>): Promise<void> {
  const left = [...slots];
  const worker = async (): Promise<void> => {
    for (let slot = left.shift(); slot !== undefined; slot = left.shift()) await make(slot);
  };
  await all(Array.from({ length: PROCESSES }, worker));
}

/** Waits for every one, also when one rejects: nothing goes on behind the back of who handles the rejection. */
async function all(promises: readonly Promise<unknown>[]): Promise<void> {
  const rejected = (await Promise.allSettled(promises)).find((result) => result.status === 'rejected');
  if (rejected) throw rejected.reason;
}

function serverFailed(slot: Slot): boolean {
  const lines = slot.tries.at(-1)?.lines ?? [];
  return lines.some((line) => line.event === 'server_checked' && !(line.alive && line.answers));
}

function isValid(slot: Slot): boolean {
  const last = slot.tries.at(-1);
  return last !== undefined && !isInvalid(last.lines);
}

function resultOf(harness: Harness, { era, client, subject }: Session, slots: readonly Slot[]): EraResult {
  const { blackBox } = harness;
  const cells = cellsOf(
    [...new Set(slots.map((slot) => slot.case))].map((name) => {
      const own = slots.filter((slot) => slot.case === name);
      return {
        case: name,
        attempts: own.filter(isValid).map((slot) => judgeLast(slot, blackBox)),
        invalidPhases: own.flatMap((slot) => slot.tries).filter((made) => isInvalid(made.lines)).length,
      };
    }),
  );
  const hidden = harness.cases.filter((name) => blackBox && name === 'before_work').map(notVisibleCell);
  return {
    era,
    revision: client.revision,
    transport: subject.transport,
    client: client.name,
    server: client.server,
    cells: [...cells, ...hidden].sort((a, b) => CASES.indexOf(a.case) - CASES.indexOf(b.case)),
  };
}

function judgeLast(slot: Slot, blackBox: boolean): AttemptResult {
  const last = slot.tries.at(-1) as Attempt;
  last.end();
  return judge(last.lines, { blackBox });
}
