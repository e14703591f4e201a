/** An insert of a recorded cancel at the cap, evictions included, against one below it; both are ours. */
import type { Bench } from '../bench.ts';
import { ratioRow } from '../row.ts';
import { takeTurns } from '../sides.ts';

export const recorded: Bench = {
  name: 'recorded',
  async run(quick) {
    const size = quick ? { starts: 1, rounds: 3, warmUp: 1, count: 1 } : { starts: 1, rounds: 21, warmUp: 3, count: 5 };
    const side = (cap: string) => ({ script: 'recorded', args: [cap] });
    const { at, below } = await takeTurns({ at: side('at'), below: side('below') }, size);
    return [ratioRow({ name: 'recorded, at the cap', unit: 'us', peerName: 'ours below it', target: 2 }, at, below)];
  },
};
