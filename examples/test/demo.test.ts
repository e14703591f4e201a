/** The demo can fail: whatever is not as claimed is a difference. And the README's table is what is claimed. */
import { readFileSync } from 'node:fs';
import { CASES, type Cell, type CellVerdict, type ProbeResult } from 'estop/probe';
import { describe, expect, test } from 'vitest';
import { CLAIMS, type Claim } from '../demo/claims.ts';
import { differences } from '../demo/differences.ts';

/** A run that saw just what is claimed. */
function asClaimed({ cells, boundary }: Claim): ProbeResult {
  const seen = CASES.map((name): Cell => {
    const [verdict, outcome] = cells[name].split(': ') as [CellVerdict, string];
    return { case: name, verdict, outcomes: [outcome], boundary, handlerEnds: [], attempts: [], invalidPhases: 0 };
  });
  const era = { era: 'legacy', revision: '', transport: 'stdio', client: '', server: '', cells: seen } as const;
  return { eras: [era] } as unknown as ProbeResult;
}

function withCell(result: ProbeResult, change: (cell: Cell) => Cell | undefined): ProbeResult {
  const eras = result.eras.map((era) => ({ ...era, cells: era.cells.flatMap((cell) => change(cell) ?? []) }));
  return { ...result, eras };
}

describe.each(CLAIMS)('$title', (claim) => {
  test('has no difference when all is as claimed', () => {
    expect(differences(claim, asClaimed(claim), claim.hungCall)).toEqual([]);
  });

  test.each(CASES)('a %s with another verdict, another outcome, two outcomes or none is a difference', (name) => {
    const changes: ((cell: Cell) => Cell | undefined)[] = [
      (cell) => ({ ...cell, verdict: cell.verdict === 'unknown' ? 'as expected' : 'unknown' }),
      (cell) => ({ ...cell, outcomes: ['something else'] }),
      (cell) => ({ ...cell, outcomes: [...cell.outcomes, 'something else'] }),
      () => undefined,
    ];
    for (const change of changes) {
      const result = withCell(asClaimed(claim), (cell) => (cell.case === name ? change(cell) : cell));
      expect(differences(claim, result, claim.hungCall).join()).toContain(`${name}: claimed`);
    }
  });

  test('so is another place where the stop was last seen, and another end of a call that hangs', () => {
    const elsewhere = withCell(asClaimed(claim), (cell) => ({ ...cell, boundary: 'nowhere' }));
    const other = claim.hungCall === 'not answered in 5 s' ? 'answered at its deadline' : 'not answered in 5 s';
    expect(differences(claim, elsewhere, claim.hungCall)).toHaveLength(1);
    expect(differences(claim, asClaimed(claim), other)).toHaveLength(1);
  });
});

test("the README's table is what is claimed", () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8').split('\n');
  const start = readme.findIndex((line) => line.startsWith('| server | baseline |'));
  const rows = readme.slice(start + 2, start + 2 + CLAIMS.length).map((line) =>
    line
      .replaceAll(/[`*]/g, '')
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  const claimed = CLAIMS.map(({ title, cells, boundary, hungCall }) => {
    const shown = CASES.map((name) => (cells[name].startsWith('leaked') ? 'leaked' : cells[name].split(': ')[1]));
    return [title, ...shown, boundary, hungCall];
  });
  expect(rows).toEqual(claimed);
});
