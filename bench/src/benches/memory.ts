/** What a call in flight takes of the heap because it is protected, over what the SDK itself takes, client included. */
import type { Bench } from '../bench.ts';
import { amountRow, median, type Row } from '../row.ts';
import { takeTurns } from '../sides.ts';

const KINDS = [
  { signal: 'untouched', what: 'signal untouched', target: 1_536 },
  { signal: 'looked-at', what: 'signal looked at', target: 2_304 },
] as const;

export const memory: Bench = {
  name: 'memory',
  async run(quick) {
    const rows: Row[] = [];
    for (const kind of KINDS) rows.push(await ofKind(kind, quick));
    return rows;
  },
};

async function ofKind({ signal, what, target }: (typeof KINDS)[number], quick: boolean): Promise<Row> {
  const side = (around: string) => ({ script: 'memory', args: [around, signal], execArgv: ['--expose-gc'] });
  const size = quick
    ? { starts: 1, rounds: 1, warmUp: 0, count: 1_000 }
    : { starts: 1, rounds: 5, warmUp: 1, count: 10_000 };
  const figures = await takeTurns({ bare: side('bare'), protected: side('protected') }, size);
  const bare = median(figures.bare);
  const more = median(figures.protected.map((bytes, round) => bytes - (figures.bare[round] ?? Number.NaN)));
  const peer = { name: 'all of the bare SDK', value: bare };
  return amountRow({ name: `memory of a call over the SDK's own, ${what}`, unit: 'bytes', target, peer }, more);
}
