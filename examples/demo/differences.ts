/**
 * What a run of the demo saw, held against what is claimed: word for word, every cell.
 */
import { CASES, type CaseName, type Cell, type ProbeResult } from 'estop/probe';
import type { Claim, HungCall } from './claims.ts';

/** One sentence for each thing that is not as claimed; empty when all is. */
export function differences(claim: Claim, result: ProbeResult, hung: HungCall): string[] {
  const found = CASES.flatMap((name) => {
    const cell = cellOf(result, name);
    const seen = cell ? `${cell.verdict}: ${cell.outcomes.join(', ')}` : 'missing';
    return seen === claim.cells[name] ? [] : [`${name}: claimed "${claim.cells[name]}", seen "${seen}"`];
  });
  const boundary = cellOf(result, 'during_work')?.boundary;
  if (boundary !== claim.boundary) found.push(`during_work: claimed "${claim.boundary}", seen "${boundary}"`);
  if (hung !== claim.hungCall) found.push(`a hung call: claimed "${claim.hungCall}", seen "${hung}"`);
  return found;
}

export function cellOf(result: ProbeResult, name: CaseName): Cell | undefined {
  return result.eras[0]?.cells.find((cell) => cell.case === name);
}
