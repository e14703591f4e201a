/** Admission: many jobs that do nothing, queued at once from 20 scopes, ten at a time. */
import type { Bench } from '../bench.ts';
import { ratioRow } from '../row.ts';
import { takeTurns } from '../sides.ts';

export const slots: Bench = {
  name: 'slots',
  async run(quick) {
    const size = quick
      ? { starts: 1, rounds: 3, warmUp: 1, count: 500 }
      : { starts: 3, rounds: 9, warmUp: 8, count: 10_000 };
    const side = (which: string) => ({ script: 'slots', args: [which] });
    const figures = await takeTurns({ ours: side('ours'), theirs: side('p-queue') }, size);
    const name = `slots, ${size.count} jobs of 20 scopes, 10 at once`;
    return [ratioRow({ name, unit: 'us', peerName: 'p-queue', target: 1 }, figures.ours, figures.theirs)];
  },
};
