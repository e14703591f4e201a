/**
 * What an era left unknown: one entry for each cell with something that could not be seen, and what is open there.
 *
 * Promises that no unknown is dropped because something worse was seen beside it. Does not say what to do about it.
 */
import { CASE_TABLE } from '../cases/table.ts';
import type { Cell, EraResult, Observation, Unknown } from '../result.ts';
import { OBSERVATIONS } from './observations.ts';

type Seen = Pick<EraResult, 'era' | 'revision' | 'transport' | 'cells'>;

/** @param watchedMs  how long each attempt was watched after its gates were opened: the window */
export function unknownsOf({ era, revision, transport, cells }: Seen, watchedMs: number): Unknown[] {
  return cells.flatMap((cell) => {
    const what = whatIsOpen(cell);
    if (what === undefined) return [];
    return [{ era, revision, transport, case: cell.case, boundaryLastSeen: boundaryOf(cell), watchedMs, what }];
  });
}

function boundaryOf(cell: Cell): string {
  if (cell.boundary) return cell.boundary;
  return cell.attempts.length === 0 ? 'no attempt was judged' : 'not known';
}

function whatIsOpen(cell: Cell): string | undefined {
  if (cell.verdict === 'invalid') return neverReached(cell);
  const open = cell.attempts.flatMap(({ observations }) => observations.filter(({ grade }) => grade === 'unknown'));
  if (open.length > 0) return oneSentence(open.map(openOf));
  return cell.verdict === 'unknown' ? OBSERVATIONS['not-visible'].leavesOpen : undefined;
}

function neverReached({ case: name, invalidPhases }: Cell): string {
  if (invalidPhases === 0) return 'No attempt was made, so nothing is known of this case.';
  const { phase } = CASE_TABLE[name];
  return `Its phase (${phase}) was not reached in any of ${invalidPhases} attempts, so nothing was judged.`;
}

/** States that could not be read are named; of the rest, what they leave open. */
function openOf(observation: Observation): string {
  const names: readonly Observation['name'][] = ['state-unreadable', 'witness-disagrees', 'control-failed'];
  return names.includes(observation.name) ? observation.shows : observation.leavesOpen;
}

function oneSentence(sentences: readonly string[]): string {
  const [head = '', ...rest] = [...new Set(sentences.map((sentence) => sentence.replace(/\.$/, '')))];
  const tail = rest.map((sentence) => sentence.charAt(0).toLowerCase() + sentence.slice(1));
  return `${[head, ...tail].join('; ')}.`;
}
