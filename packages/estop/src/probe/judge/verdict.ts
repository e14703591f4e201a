/**
 * From the results of a case's attempts to its cell, and from all cases to the cells of an era.
 *
 * Promises a verdict that does not depend on the order in which attempts are given, and never green beside something
 * unknown or without a control that survived. Does not weigh: one attempt that leaked among a hundred is not forgotten.
 */
import { CASES, type CaseName } from '../cases/table.ts';
import type { AttemptResult, Cell, CellVerdict, Grade, Observation } from '../result.ts';
import { byGrade, inWords, OBSERVATIONS, observe, worstGrade } from './observations.ts';

/** The attempts of one case that reached their phase, and how many did not. */
export interface JudgedCase {
  readonly case: CaseName;
  readonly attempts: readonly AttemptResult[];
  readonly invalidPhases: number;
}

/** The cells of an era in the order of the cases, with what `held` says of `during_work`. */
export function cellsOf(cases: readonly JudgedCase[]): Cell[] {
  const held = cases.filter((judged) => judged.case === 'held').flatMap(({ attempts }) => attempts);
  return [...cases]
    .sort((a, b) => CASES.indexOf(a.case) - CASES.indexOf(b.case))
    .map((judged) =>
      judged.case === 'during_work' ? { ...judged, attempts: withControl(judged.attempts, held) } : judged,
    )
    .map(cellOf);
}

/** Knows nothing of the control; see `cellsOf` and `withControl`. */
export function cellOf({ case: name, attempts, invalidPhases }: JudgedCase): Cell {
  const sorted = [...attempts].sort(byAttempt);
  return {
    case: name,
    verdict: verdictOf(sorted.map(({ grade }) => grade)),
    outcomes: mostFrequentFirst([...sorted].sort(byGrade).map(({ outcome }) => outcome)),
    boundary: boundaryOf(sorted),
    handlerEnds: mostFrequentFirst(sorted.map((attempt) => attempt.handlerEnd).sort()),
    attempts: sorted,
    invalidPhases,
  };
}

/**
 * The cell of a case that cannot be run because the subject is a black box.
 *
 * It is unknown, and has no attempts: none was made.
 */
export function notVisibleCell(name: CaseName): Cell {
  const { name: outcome, grade } = OBSERVATIONS['not-visible'];
  return {
    case: name,
    verdict: grade,
    outcomes: [outcome],
    boundary: '',
    handlerEnds: [],
    attempts: [],
    invalidPhases: 0,
  };
}

/**
 * The attempts of `during_work` in the light of their control: when work that nobody cancels does not survive, was
 * held no longer than the work that stopped, or was not judged, a stop that was seen need not come from the cancel.
 * A leak stays a leak.
 */
export function withControl(duringWork: readonly AttemptResult[], held: readonly AttemptResult[]): AttemptResult[] {
  return duringWork.map((attempt) => {
    const problem = problemOfControl(held, attempt.heldMs);
    return problem === undefined
      ? attempt
      : withoutConfirmation(attempt, observe('control-failed', { shows: problem }));
  });
}

function problemOfControl(held: readonly AttemptResult[], stoppedAfterMs = 0): string | undefined {
  const control = 'work at the same gate, without a cancel';
  if (held.length === 0) return `The control was not judged: ${control}.`;
  if (held.some(({ grade }) => grade !== 'as expected')) return `The control did not come out as expected: ${control}.`;
  if (held.some(({ heldMs = 0 }) => heldMs <= stoppedAfterMs)) {
    return `The control was held no longer than the work that was seen to stop: ${control}.`;
  }
  return undefined;
}

function withoutConfirmation(attempt: AttemptResult, because: Observation): AttemptResult {
  if (attempt.grade === 'leaked' || attempt.grade === 'unknown') return attempt;
  const observations = [because, ...attempt.observations.filter(({ name }) => name !== 'stop-confirmed')].sort(byGrade);
  return { ...attempt, grade: because.grade, outcome: because.name, observations };
}

/** `raced` needs two grades that are known; beside them an unknown attempt makes a cell worse, never better. */
export function verdictOf(grades: readonly Grade[]): CellVerdict {
  if (grades.length === 0) return 'invalid';
  const known = new Set(grades.filter((grade) => grade !== 'unknown'));
  return known.size > 1 ? 'raced' : worstGrade(grades);
}

/** Of the worst attempts, the first whose worst observations say where the stop was last seen. */
function boundaryOf(sorted: readonly AttemptResult[]): string {
  const worst = worstGrade(sorted.map(({ grade }) => grade));
  const seen = sorted
    .filter(({ grade }) => grade === worst)
    .flatMap(({ observations }) => [...observations].sort(byGrade))
    .find(({ lastSeen }) => lastSeen !== undefined);
  return inWords(seen?.lastSeen, seen?.firstNotSeen);
}

function mostFrequentFirst<T>(values: readonly T[]): T[] {
  const count = (value: T): number => values.filter((other) => other === value).length;
  return [...new Set(values)].sort((a, b) => count(b) - count(a));
}

function byAttempt(a: AttemptResult, b: AttemptResult): number {
  return a.attempt - b.attempt || (a.testId < b.testId ? -1 : a.testId > b.testId ? 1 : 0);
}
