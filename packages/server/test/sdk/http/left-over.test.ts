/** What is left of a thousand cancelled calls: no socket, no listener, no timer, and no entry in anybody's map. */
import { queryObjects } from 'node:v8';
import { describe, expect, test } from 'vitest';
import { mapSizes, SETUPS } from '../../support/http-setups.ts';
import { noSockets } from '../../support/raw-http.ts';
import { make } from './make.ts';

// That of the package as it is built, which the servers use.
const { Post } = await import(new URL('../../../dist/sdk/http/post.js', import.meta.url).href);

const CALLS = 1_000;
const AT_ONCE = 50;

describe.each(SETUPS)('$name', (setup) => {
  test('after a thousand cancelled calls nothing is left', async () => {
    const { estop, holding, clock, transports, http, connect } = await make(setup);
    const client = await connect();
    const posts = queryObjects(Post, { format: 'count' });
    const sizes = (): number[] => [...transports.values()].flatMap(mapSizes);
    const before = sizes();
    for (let first = 0; first < CALLS; first += AT_ONCE) {
      const calls = Array.from({ length: AT_ONCE }, async (_, n) => {
        const id = `c${first + n}`;
        const exchange = client.call(id, 'hold');
        const held = await holding.started(id);
        if (setup.era === 'modern') exchange.hangUp();
        else await client.cancel(id);
        await held.stopped;
        held.returns();
        return exchange.over;
      });
      const how = setup.era === 'modern' ? 'broken' : 'ended';
      expect(new Set(await Promise.all(calls))).toEqual(new Set([how]));
    }
    await client.call('last', 'quick').answer('last');
    // What they stand for is cleared up with them.
    expect(queryObjects(Post, { format: 'count' }) - posts).toBeLessThan(10);
    expect(estop.stats()).toMatchObject({ queued: 0, running: 0, abandoned: 0, inFlight: 0, recorded: 0 });
    expect(clock.pending).toBe(0);
    // v1 in JSON mode keeps an entry of each call that it has answered: those before, and the last one.
    const own = setup.name.startsWith('v1 stateful JSON') ? 1 : 0;
    expect(sum(sizes()) - sum(before)).toBe(own);
    client.agent.destroy();
    await noSockets(http);
  }, 120_000);
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
