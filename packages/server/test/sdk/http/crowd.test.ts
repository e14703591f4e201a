/** Five hundred clients at once: a third cancels, a third hangs up, and a third waits for its answer. */
import { describe, expect, test } from 'vitest';
import { RESULT, SETUPS } from '../../support/http-setups.ts';
import type { RawClient, RawExchange } from '../../support/raw-http.ts';
import { turns } from '../../support/waiting.ts';
import { make } from './make.ts';

const CLIENTS = 500;
const GRACE_MS = 5_000;

type Way = 'cancels' | 'hangs up' | 'waits';
const WAYS: readonly Way[] = ['cancels', 'hangs up', 'waits'];

interface One {
  readonly way: Way;
  readonly client: RawClient;
  readonly exchange: RawExchange;
}

describe.each(SETUPS.filter(({ name }) => !name.endsWith('on Hono')))('$name', (setup) => {
  test('exactly those stop who are cancelled or whose client is gone, and all others are answered', async () => {
    const { estop, holding, clock, connect } = await make(setup);
    // Each client's first call has the same id.
    const ones: One[] = [];
    for (let n = 0; n < CLIENTS; n += 1) {
      const client = await connect();
      const exchange = client.call(1, 'hold');
      await holding.started(1, n);
      ones.push({ client, exchange, way: WAYS[n % WAYS.length] as Way });
    }
    expect(estop.stats().running).toBe(CLIENTS);

    const leave = async ({ way, client, exchange }: One): Promise<void> => {
      if (way === 'waits') return;
      if (way === 'hangs up' || setup.era === 'modern') {
        exchange.hangUp();
        await exchange.over;
      } else await client.cancel(1);
    };
    await Promise.all(ones.map(leave));

    const helds = await Promise.all(ones.map((_, n) => holding.started(1, n)));
    const stopped = Promise.all(helds.filter((_, n) => ones[n]?.way !== 'waits').map(({ stopped }) => stopped));
    const over = stopped.then(() => true);
    // A hang-up is seen some time after it was made; from then on the grace runs.
    while (!(await Promise.race([over, new Promise<false>((resolve) => setImmediate(resolve, false))]))) {
      clock.advance(GRACE_MS);
    }
    for (const [n, { way, exchange }] of ones.entries()) {
      expect(helds[n]?.signal.aborted).toBe(way !== 'waits');
      helds[n]?.returns();
      if (way !== 'waits') expect(exchange.frames).toEqual([]);
      else expect((await exchange.answer(1)).result).toMatchObject(RESULT);
    }
    await turns();
    expect(estop.stats()).toMatchObject({ running: 0, abandoned: 0, inFlight: 0 });
  }, 120_000);
});
