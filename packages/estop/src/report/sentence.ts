/**
 * One sentence on what a run saw: the worst of it by name, and how much came out as expected.
 *
 * Promises no cause and no more than the cells say: "as expected" is claimed only of what was watched.
 */
import type { Cell, CellVerdict, ProbeResult } from '../probe/result.ts';

/** Worst first; what a run is summed up by. */
const WORST_FIRST: readonly [CellVerdict, string][] = [
  ['leaked', 'The work went on after its cancel'],
  ['raced', 'The attempts of one case came out differently'],
  ['noisy', 'The effect was right and the protocol was not kept'],
  ['unknown', 'No leak was seen, but not all could be seen'],
  ['invalid', 'No leak was seen, but not every phase was reached'],
];

export function sentence(result: ProbeResult): string {
  const rows = result.eras.flatMap(({ era, cells }) => cells.map((cell) => ({ era, cell })));
  if (rows.length === 0) return 'Nothing was judged.';
  const good = rows.filter(({ cell }) => cell.verdict === 'as expected').length;
  for (const [verdict, says] of WORST_FIRST) {
    const found = rows.filter(({ cell }) => cell.verdict === verdict);
    if (found.length === 0) continue;
    const places = found.map(({ era, cell }) => `${cell.case} on ${era}${detail(cell)}`);
    return `${says}: ${list(places)}; ${good} of ${rows.length} cells came out as expected.`;
  }
  const eras = list(result.eras.map(({ era }) => era));
  return `All ${rows.length} cells came out as expected on ${eras}${stopTimes(rows.map(({ cell }) => cell))}.`;
}

/** The outcomes of a cell, with counts where there is more than one. */
export function outcomes(cell: Cell): string {
  if (cell.outcomes.length <= 1) return cell.outcomes[0] ?? '-';
  const count = (outcome: string): number => cell.attempts.filter((attempt) => attempt.outcome === outcome).length;
  return cell.outcomes.map((outcome) => `${count(outcome)}×${outcome}`).join(', ');
}

/** `a`, `a and b`, `a, b and c`. */
export function list(words: readonly string[]): string {
  return words.length <= 1 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

function detail(cell: Cell): string {
  if (cell.verdict === 'invalid') return '';
  const says = cell.verdict === 'leaked' && cell.boundary ? cell.boundary : outcomes(cell);
  return ` (${says})`;
}

function stopTimes(cells: readonly Cell[]): string {
  const times = cells.flatMap((cell) => cell.attempts.flatMap(({ stopMs }) => (stopMs === undefined ? [] : [stopMs])));
  if (times.length === 0) return '';
  const [least, most] = [Math.round(Math.min(...times)), Math.round(Math.max(...times))];
  return `; the witness saw the work stop ${least === most ? least : `${least} to ${most}`} ms after the abort`;
}
