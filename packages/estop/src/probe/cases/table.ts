/**
 * The words of an attempt: its cases, gates and checkpoints, and what each case expects.
 *
 * One table, read by the runner, the judge, the reports and `estop cases`. How a case is run is in the file of its name.
 */

/** The five cases and the control, in the order in which they are printed. */
export const CASES = ['baseline', 'held', 'before_work', 'during_work', 'after_commit', 'after_settle'] as const;
export type CaseName = (typeof CASES)[number];

/**
 * What holds an attempt at a known phase.
 *
 * `before_work` and `release_response` are waited for by the handler at the control plane, `allow_commit` by the
 * worker at the witness. A gate never closes again: whoever comes late finds it open.
 */
export type Gate = 'before_work' | 'allow_commit' | 'release_response';

/** Where the kit's handler can act on a stop. */
export type Checkpoint = 'before_work' | 'waiting_on_work' | 'release_response';

/** What comes out of a case when the stop is real. */
export type ExpectedOutcome = 'completed' | 'survived' | 'not-started' | 'stopped' | 'committed-then-quiet' | 'quiet';

export interface CaseDescription {
  readonly name: CaseName;
  readonly expected: ExpectedOutcome;
  /** The phase that must be established before the cancel; without it the attempt is `invalid_phase`. */
  readonly phase: string;
  readonly asks: string;
}

export const CASE_TABLE: Readonly<Record<CaseName, CaseDescription>> = {
  baseline: {
    name: 'baseline',
    expected: 'completed',
    phase: 'none',
    asks: 'Nobody cancels: does the call resolve, and is its marker there? Otherwise no other case means anything.',
  },
  held: {
    name: 'held',
    expected: 'survived',
    phase: 'the worker has started',
    asks: 'The control: the same gate and at least the same wait as during_work, without a cancel. Is the work still there?',
  },
  before_work: {
    name: 'before_work',
    expected: 'not-started',
    phase: 'the handler has started',
    asks: 'Cancelled while the handler waits at its first gate: does the work never start?',
  },
  during_work: {
    name: 'during_work',
    expected: 'stopped',
    phase: 'the worker has started',
    asks: 'Cancelled while the work runs and may not yet commit: does the witness see the work stop?',
  },
  after_commit: {
    name: 'after_commit',
    expected: 'committed-then-quiet',
    phase: 'the handler has the result',
    asks: 'Cancelled after the effect and before the answer: does the effect stand, and is the wire quiet?',
  },
  after_settle: {
    name: 'after_settle',
    expected: 'quiet',
    phase: 'the call has resolved',
    asks: 'Cancelled after the call has resolved: does nothing cross the wire?',
  },
};
