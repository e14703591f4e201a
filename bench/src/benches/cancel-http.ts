/** How long a cancel takes over HTTP, from the client's abort to the handler's signal. */
import { type Bench, protectedAgainstBareByOneClient, protectedAlone, rowsOrWhyNot } from '../bench.ts';
import type { Row } from '../row.ts';
import { ALL_WIRINGS, WIRINGS } from '../wirings.ts';

/** How the call is answered is nothing to its cancel. */
const MEASURED = ALL_WIRINGS.filter((wiring) => wiring !== 'v1 stateful, JSON');
const NEVER_STOPS = 'the bare SDK loses this cancel: its handler never stops';

export const cancelHttp: Bench = {
  name: 'cancel-http',
  async run(quick) {
    const rounds = quick
      ? { starts: 1, rounds: 3, warmUp: 1, count: 5 }
      : { starts: 3, rounds: 60, warmUp: 30, count: 12 };
    const rows: Row[] = [];
    for (const wiring of MEASURED) {
      const init = { name: `cancel-http, ${wiring}`, unit: 'us', target: 1.2, rounds };
      const side = { script: 'cancel-http', args: [wiring] };
      const run = (): Promise<Row[]> =>
        WIRINGS[wiring].losesCancels
          ? protectedAlone({ ...init, note: NEVER_STOPS }, side)
          : protectedAgainstBareByOneClient(init, side);
      rows.push(...(await rowsOrWhyNot(init.name, run)));
    }
    return rows;
  },
};
