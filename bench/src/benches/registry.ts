/** Track plus untrack against a Map's set plus delete, while few and while very many others are in flight. */
import type { Bench } from '../bench.ts';
import { type Row, ratioRow } from '../row.ts';
import { takeTurns } from '../sides.ts';

const TARGET = 3;
const LIVE = [1_000, 10_000, 1_000_000];

export const registry: Bench = {
  name: 'registry',
  async run(quick) {
    const rows: Row[] = [];
    for (const live of quick ? [1_000] : LIVE) rows.push(await withLive(live, quick));
    return rows;
  },
};

async function withLive(live: number, quick: boolean): Promise<Row> {
  const size = quick
    ? { starts: 1, rounds: 3, warmUp: 1, count: 1_000 }
    : { starts: 1, rounds: 21, warmUp: 3, count: 200_000 };
  const side = (which: string) => ({
    script: 'registry',
    args: [which, String(live)],
    execArgv: ['--max-old-space-size=4096'],
  });
  const { ours, map } = await takeTurns({ ours: side('ours'), map: side('map') }, size);
  const name = `registry, ${live} live, 100 to a scope`;
  return ratioRow({ name, unit: 'us', peerName: 'one flat Map', target: TARGET }, ours, map);
}
