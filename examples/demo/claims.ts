/**
 * What the project claims of each server of the demo; the run is held against this, word for word.
 */
import type { CaseName, CellVerdict } from 'estop/probe';

export interface Claim {
  readonly server: string;
  readonly title: string;
  /** Verdict and outcome by case. */
  readonly cells: Readonly<Record<CaseName, `${CellVerdict}: ${string}`>>;
  /** Where the stop was last seen while the work ran. */
  readonly boundary: string;
  /** What becomes of a call that nobody cancels, and whose handler never comes back. */
  readonly hungCall: HungCall;
}

export type HungCall = 'answered at its deadline' | 'not answered in 5 s';

const STOPPED: Claim['cells'] = {
  baseline: 'as expected: completed',
  held: 'as expected: survived',
  before_work: 'as expected: not-started',
  during_work: 'as expected: stopped',
  after_commit: 'as expected: committed-then-quiet',
  after_settle: 'as expected: quiet',
};
const LEAKED = 'leaked: committed-after-signal';

export const CLAIMS: readonly Claim[] = [
  {
    server: 'forwards',
    title: 'bare SDK, forwards its signal',
    cells: STOPPED,
    boundary: 'reached the work',
    hungCall: 'not answered in 5 s',
  },
  {
    server: 'listens',
    title: 'bare SDK, listens, does not forward',
    cells: { ...STOPPED, during_work: LEAKED },
    boundary: 'reached the handler, not the work',
    hungCall: 'not answered in 5 s',
  },
  {
    server: 'deaf',
    title: 'bare SDK, deaf',
    cells: { ...STOPPED, before_work: LEAKED, during_work: LEAKED },
    boundary: 'reached the handler, not the work',
    hungCall: 'not answered in 5 s',
  },
  {
    server: 'protected',
    title: 'deaf, with protect() alone',
    cells: { ...STOPPED, before_work: LEAKED, during_work: LEAKED },
    boundary: 'reached the handler, not the work',
    hungCall: 'answered at its deadline',
  },
  {
    server: 'isolated',
    title: 'deaf, in a thread behind estop',
    cells: STOPPED,
    boundary: 'reached the work',
    hungCall: 'answered at its deadline',
  },
];
