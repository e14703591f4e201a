/**
 * What the project claims of each server of the demo; the run is held against this, word for word.
 */
import type { CaseName } from 'estop/probe';

export type Claim = KitClaim | BlackBoxClaim;

interface Common {
  readonly server: string;
  readonly title: string;
  /** Where the stop was last seen while the work ran. */
  readonly boundary: string;
  /** What becomes of a call that nobody cancels, and whose handler never comes back. */
  readonly hungCall: HungCall;
}

/** Its tool is the kit's, and tells what its handler sees: no cell is unknown. */
interface KitClaim extends Common {
  readonly args?: undefined;
  /** Verdict and outcome by case. */
  readonly cells: Readonly<Record<CaseName, Known>>;
}

/** Its tool `run` is its own, and its work a command. What its handler was told before the work is never claimed. */
interface BlackBoxClaim extends Common {
  readonly args: { readonly command: string };
  readonly cells: Readonly<Record<Exclude<CaseName, 'before_work'>, Known> & { before_work: 'unknown: not-visible' }>;
}

type Known = `${'as expected' | 'leaked'}: ${string}`;

export type HungCall = 'answered at its deadline' | 'not answered in 5 s';

const STOPPED = {
  baseline: 'as expected: completed',
  held: 'as expected: survived',
  before_work: 'as expected: not-started',
  during_work: 'as expected: stopped',
  after_commit: 'as expected: committed-then-quiet',
  after_settle: 'as expected: quiet',
} satisfies KitClaim['cells'];
const STOPPED_UNSEEN = { ...STOPPED, before_work: 'unknown: not-visible' } satisfies BlackBoxClaim['cells'];

const LEAKED = 'leaked: committed-after-signal';
/** Without a word from the handler, a commit after the cancel might be a race; to whoever pays for it, it is none. */
const LEAKED_UNSEEN = 'leaked: committed-in-race';

/** A shell that stays, and two programs under it. */
const PIPELINE = { command: '{{work.command}} | tail -n 1' };

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
  {
    server: 'exec',
    title: 'bare SDK, exec() with its signal',
    args: PIPELINE,
    cells: { ...STOPPED_UNSEEN, during_work: LEAKED_UNSEEN },
    boundary: 'reached the server; what its handler saw is not visible',
    hungCall: 'not answered in 5 s',
  },
  {
    server: 'spawn',
    title: 'the same command, spawned by estop',
    args: PIPELINE,
    cells: STOPPED_UNSEEN,
    boundary: 'reached the work',
    hungCall: 'answered at its deadline',
  },
];
