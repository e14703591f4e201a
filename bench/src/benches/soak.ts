/** A million protected calls with random cancels: what they leave behind. */
import type { Bench } from '../bench.ts';
import { amountRow } from '../row.ts';
import type { Soaked } from '../sides/soak.ts';
import { takeTurns } from '../sides.ts';

/** Under 1 MB. */
const GROWTH_BYTES = 1_000_000;

export const soak: Bench = {
  name: 'soak',
  async run(quick) {
    const count = quick ? 2_000 : 1_000_000;
    const side = { script: 'soak', args: ['protected'], execArgv: ['--expose-gc'] };
    const { soaked } = await takeTurns<'soaked', Soaked>({ soaked: side }, { starts: 1, rounds: 1, warmUp: 0, count });
    const [{ growthBytes, left }] = soaked as [Soaked];
    const things = Object.entries(left).filter(([, number]) => number !== 0);
    const note = things.map(([what, number]) => `${what} ${number}`).join(', ');
    const name = `soak, ${count} calls, 1 in 10 cancelled`;
    return [
      amountRow({ name: `${name}: growth`, unit: 'bytes', target: GROWTH_BYTES }, growthBytes),
      amountRow(
        { name: `${name}: left behind`, unit: 'things', target: 0, ...(note && { note }) },
        things.reduce((sum, [, number]) => sum + Math.abs(number), 0),
      ),
    ];
  },
};
