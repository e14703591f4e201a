/** The same call over HTTP, in each of the ways in which a server is put behind it. */
import { type Bench, protectedAgainstBareByOneClient, rowsOrWhyNot } from '../bench.ts';
import type { Row } from '../row.ts';
import { ALL_WIRINGS } from '../wirings.ts';

export const callHttp: Bench = {
  name: 'call-http',
  async run(quick) {
    const rounds = quick
      ? { starts: 1, rounds: 3, warmUp: 1, count: 10 }
      : { starts: 3, rounds: 160, warmUp: 100, count: 6 };
    const rows: Row[] = [];
    for (const wiring of ALL_WIRINGS) {
      const init = { name: `call-http, ${wiring}`, unit: 'us', target: 1.03, rounds };
      const side = { script: 'call-http', args: [wiring] };
      rows.push(...(await rowsOrWhyNot(init.name, () => protectedAgainstBareByOneClient(init, side))));
    }
    return rows;
  },
};
