/**
 * From the lines of one attempt to its result: what was observed, how bad it is, and what came out.
 *
 * Promises the same result for the same lines, whoever judges them and when, and never `as expected` for something
 * that was not seen. Give it all lines of the test id up to the end of the run: a start or a commit that came late
 * revokes. Does not say why a stop was lost, and does not judge attempts whose phase was not reached.
 */
import { CASE_TABLE, type CaseName } from '../cases/table.ts';
import type { AttemptResult, Observation } from '../result.ts';
import {
  answeredAfterCancel,
  cancelAfterSettle,
  cancelOnWire,
  pendingAtAbort,
  settledBeforeAbort,
} from './facts/call.ts';
import { delivered, handlerEnd, handlerEndedInTime, handlerTouchedBeforeAbort } from './facts/handler.ts';
import { all, first, inOrder, type Lines, last, wasCancelled, watched } from './facts/lines.ts';
import { closesStream } from './facts/signal.ts';
import {
  disagreements,
  effectHappened,
  markerAbsent,
  markerFound,
  openJobs,
  serverDied,
  unreadable,
} from './facts/state.ts';
import {
  disconnectedBeforeAbort,
  heldMs,
  jobHas,
  jobsOf,
  jobsStartedAfterAbort,
  jobsStartedBeforeAbort,
  stopMs,
  stoppedBeforeAbort,
  stoppedBeforeItsGate,
  stoppedInTime,
} from './facts/work.ts';
import { byGrade, observe, STREAM_NOT_CLOSED, worstGrade } from './observations.ts';

export interface JudgeOptions {
  /** The subject's handler tells nothing; that it had a signal can then not be known. */
  readonly blackBox: boolean;
}

/** @throws when the lines are those of no attempt, or of one whose phase was not reached */
export function judge(unordered: Lines, { blackBox }: JudgeOptions): AttemptResult {
  const lines = watched(inOrder(unordered));
  const started = first(lines, 'attempt_started');
  if (!started) throw new Error('estop: these lines belong to no attempt; none of them is attempt_started');
  if (isInvalid(lines)) throw new Error(`estop: ${started.testId} did not reach its phase; it has no result`);

  const observations = JUDGES[started.case](lines, blackBox).sort(byGrade);
  const ms = stopMs(lines);
  const held = heldMs(lines);
  return {
    testId: started.testId,
    attempt: started.attempt,
    grade: worstGrade(observations.map(({ grade }) => grade)),
    outcome: outcomeOf(started.case, observations),
    observations,
    handlerEnd: handlerEnd(lines),
    ...(ms === undefined ? {} : { stopMs: ms }),
    ...(held === undefined ? {} : { heldMs: held }),
  };
}

/** Whether the phase of the attempt was not reached. Such attempts are counted, and have no result. */
export function isInvalid(lines: Lines): boolean {
  if (first(lines, 'invalid_phase')) return true;
  const needsPhase = first(lines, 'attempt_started')?.case !== 'baseline';
  return needsPhase && !first(lines, 'phase_established');
}

/** What is wrong with a baseline, in one clear sentence; undefined when the call resolved and its marker is there. */
export function baselineProblem(lines: Lines): string | undefined {
  const settled = first(lines, 'client_settled');
  if (!settled || settled.settlement === 'pending') return 'the call did not settle while it was waited for';
  const silent = last(lines, 'worker_state_unreadable');
  if (silent && !markerFound(lines)) return `the witness could not be asked for its work: ${silent.reason}`;
  if (settled.settlement !== 'resolved') return `the call did not resolve: ${settled.detail ?? settled.settlement}`;
  if (markerFound(lines)) return undefined;

  const unreadableMarker = last(lines, 'marker_unreadable');
  if (unreadableMarker) return `the call resolved, and its marker could not be read: ${unreadableMarker.reason}`;
  if (!markerAbsent(lines)) return 'the call resolved, and its marker was never read';
  const missing = `the call resolved${settled.detail ? ` (${settled.detail})` : ''}, and no marker appeared`;
  if (all(lines, 'worker_committed').length > 0) return `${missing}, although the witness tells of a commit`;
  if (jobsOf(lines).length > 0) return `${missing}: the work came to the witness and did not commit`;
  return `${missing}: the work did not come to the witness`;
}

const JUDGES: Readonly<Record<CaseName, (lines: Lines, blackBox: boolean) => Observation[]>> = {
  baseline: (lines) => [...ground(lines), ...controlFailed(baselineProblem(lines))],

  held: (lines) => [...ground(lines), ...controlFailed(...heldProblems(lines))],

  before_work(lines, blackBox) {
    const seen = cancelledWork(lines);
    if (effectHappened(lines)) return [...seen, ...leak(lines, blackBox)];
    const signal = handlerEndedInTime(lines) ? notOnWire(lines) : missingSignal(lines, blackBox);
    return withConfirmation(lines, [...seen, ...signal]);
  },

  during_work(lines, blackBox) {
    const seen = cancelledWork(lines);
    if (effectHappened(lines)) return [...seen, ...leak(lines, blackBox)];
    const signal = stoppedInTime(lines) ? notOnWire(lines) : missingSignal(lines, blackBox);
    return withConfirmation(lines, [...seen, ...signal]);
  },

  after_commit(lines, blackBox) {
    // What started after the cancel is other work than that whose effect stands.
    const later = jobsStartedAfterAbort(lines);
    const seen = [
      ...ground(lines, { disagree: missingEffect(lines), open: openJobs(lines, later) }),
      ...interference(lines),
      ...answered(lines),
    ];
    if (later.some((job) => jobHas(lines, 'worker_committed', job))) return [...seen, ...leak(lines, blackBox)];
    return [...seen, ...(blackBox ? notOnWire(lines) : missingSignal(lines, blackBox))];
  },

  after_settle: (lines) => [
    ...ground(lines, { disagree: missingEffect(lines) }),
    ...controlFailed(notSettledBeforeAbort(lines)),
    ...(cancelAfterSettle(lines) ? [observe('signalled-after-settle')] : []),
  ],
};

/** What before_work and during_work have in common: no job may be left whose end is not known. */
function cancelledWork(lines: Lines): Observation[] {
  return [...ground(lines, { open: openJobs(lines, jobsOf(lines)) }), ...interference(lines), ...answered(lines)];
}

interface Particular {
  readonly disagree?: readonly string[];
  readonly open?: readonly string[];
}

/** What spoils any verdict: a server that died, states that were not read or do not fit together. */
function ground(lines: Lines, { disagree = [], open = [] }: Particular = {}): Observation[] {
  return [
    ...(serverDied(lines) ? [observe('server-died')] : []),
    ...withClauses('witness-disagrees', [...disagreements(lines), ...disagree]),
    ...withClauses('state-unreadable', [...unreadable(lines), ...open]),
  ];
}

/** What came before the cancel, and would pass for its effect. */
function interference(lines: Lines): Observation[] {
  return controlFailed(...cancelProblems(lines), ...phaseProblems(lines));
}

function cancelProblems(lines: Lines): (string | undefined)[] {
  if (!wasCancelled(lines)) return ['the call was never cancelled'];
  return [
    stoppedBeforeAbort(lines) ? 'the work stopped before the call was cancelled' : undefined,
    disconnectedBeforeAbort(lines) ? 'the connection of a command ended before the call was cancelled' : undefined,
    pendingAtAbort(lines) ? undefined : 'the call had its answer before it was cancelled',
    handlerTouchedBeforeAbort(lines)
      ? 'the handler had a signal, or had ended, before the call was cancelled'
      : undefined,
  ];
}

function phaseProblems(lines: Lines): (string | undefined)[] {
  const early = jobsStartedBeforeAbort(lines).length > 0;
  switch (first(lines, 'attempt_started')?.case) {
    case 'before_work':
      return [wasCancelled(lines) && early ? 'work had started before the call was cancelled' : undefined];
    case 'during_work':
      return [early ? undefined : 'no work had started when the call was cancelled', stoppedTooLate(lines)];
    default:
      return [];
  }
}

function stoppedTooLate(lines: Lines): string | undefined {
  const stopped = all(lines, 'worker_stopped').length > 0 && wasCancelled(lines);
  if (!stopped || stoppedInTime(lines) || stoppedBeforeAbort(lines) || effectHappened(lines)) return undefined;
  return 'the work stopped only when the wait for it had run out, and the control was not held longer than that';
}

function notSettledBeforeAbort(lines: Lines): string | undefined {
  if (!wasCancelled(lines)) return 'the call was never cancelled';
  if (settledBeforeAbort(lines)?.settlement === 'resolved') return undefined;
  return 'the call had not resolved when it was cancelled';
}

function heldProblems(lines: Lines): (string | undefined)[] {
  return [
    stoppedBeforeItsGate(lines) ? 'the work stopped at its gate, and nobody had cancelled' : undefined,
    all(lines, 'worker_committed').length === 0 ? 'nobody cancelled, and the work did not commit' : undefined,
    markerAbsent(lines) ? 'nobody cancelled, and there is no marker' : undefined,
    first(lines, 'client_settled')?.settlement === 'resolved'
      ? undefined
      : 'nobody cancelled, and the call did not resolve',
  ];
}

/** The work committed although its call was cancelled; with where the stop was last seen. */
function leak(lines: Lines, blackBox: boolean): Observation[] {
  if (delivered(lines)) return [observe('committed-after-signal'), ...notOnWire(lines)];
  const beside = missingSignal(lines, blackBox);
  const { lastSeen, firstNotSeen } = beside[0] ?? {};
  return [
    observe('committed-in-race', { ...(lastSeen && { lastSeen }), ...(firstNotSeen && { firstNotSeen }) }),
    ...beside,
  ];
}

/** Where the signal of a pending call was not seen, from the caller on; nothing when a handler had it in time. */
function missingSignal(lines: Lines, blackBox: boolean): Observation[] {
  if (!pendingAtAbort(lines)) return [];
  if (!cancelOnWire(lines)) return notOnWire(lines);
  if (delivered(lines)) return [];
  return [observe(blackBox ? 'not-visible' : 'lost-in-runtime')];
}

function notOnWire(lines: Lines): Observation[] {
  if (!pendingAtAbort(lines) || cancelOnWire(lines)) return [];
  return [observe('not-on-wire', closesStream(lines) ? { shows: STREAM_NOT_CLOSED } : {})];
}

function answered(lines: Lines): Observation[] {
  return answeredAfterCancel(lines) ? [observe('answered-after-cancel')] : [];
}

/** The call got as far as its result, so its effect has to be there. A marker that was not read is said elsewhere. */
function missingEffect(lines: Lines): string[] {
  return markerAbsent(lines) ? ['the call had its result, and there is no marker'] : [];
}

/** A stop is confirmed only where nothing else is open; without work there is none to confirm. */
function withConfirmation(lines: Lines, seen: Observation[]): Observation[] {
  const open = seen.some(({ grade }) => grade === 'leaked' || grade === 'unknown');
  return open || jobsOf(lines).length === 0 ? seen : [...seen, observe('stop-confirmed')];
}

function controlFailed(...problems: readonly (string | undefined)[]): Observation[] {
  return withClauses(
    'control-failed',
    problems.filter((problem) => problem !== undefined),
  );
}

/** One observation for all its clauses; none without any. */
function withClauses(name: Observation['name'], clauses: readonly string[]): Observation[] {
  if (clauses.length === 0) return [];
  const text = [...new Set(clauses)].join('; ');
  return [observe(name, { shows: `${text.charAt(0).toUpperCase()}${text.slice(1)}.` })];
}

function outcomeOf(name: CaseName, [worst]: readonly Observation[]): AttemptResult['outcome'] {
  if (!worst) return CASE_TABLE[name].expected;
  return worst.name === 'stop-confirmed' ? 'stopped' : worst.name;
}
