/** A client that goes away over HTTP, in both eras, and what counts as going away. */
import { describe, expect, test } from 'vitest';
import { startHalfClosing } from '../../support/half-closing.ts';
import { RESULT, SETUPS } from '../../support/http-setups.ts';
import { RawClient } from '../../support/raw-http.ts';
import { turns, until } from '../../support/waiting.ts';
import { make } from './make.ts';

const GRACE_MS = 5_000;
// The handler's own legacy leg closes its server at once; so does an app that closes it on the end of the response.
const STATEFUL = SETUPS.filter(({ sessions }) => sessions);
const STATELESS = SETUPS.filter(({ sessions }) => !sessions);

describe.each(STATEFUL)('$name', (setup) => {
  test('a hang-up stops the calls of its exchange when the grace is over, and no others', async () => {
    const { estop, holding, clock, connect } = await make(setup);
    const client = await connect();
    const gone = client.call(1, 'hold');
    const kept = client.call(2, 'hold');
    const [one, two] = [await holding.started(1), await holding.started(2)];
    gone.hangUp();
    await gone.over;
    await until(() => clock.pending > 0, 'the hang-up is seen');
    clock.advance(GRACE_MS - 1);
    expect(one.signal.aborted).toBe(false);
    clock.advance(1);
    expect(await one.stopped).toMatchObject({ kind: 'disconnected' });
    expect(two.signal.aborted).toBe(false);
    two.returns();
    expect((await kept.answer(2)).result).toMatchObject(RESULT);
    one.returns();
    await turns();
    expect(estop.stats().inFlight).toBe(0);
    expect(clock.pending).toBe(0);
  });

  test('the grace can be turned off: then a hang-up says nothing', async () => {
    const { estop, holding, clock, connect } = await make(setup, { http: { disconnectGraceMs: Infinity } });
    const client = await connect();
    const gone = client.call(1, 'hold');
    const held = await holding.started(1);
    gone.hangUp();
    await gone.over;
    await client.call(2, 'quick').answer(2);
    clock.advance(3_600_000);
    expect(held.signal.aborted).toBe(false);
    held.returns();
    await turns();
    expect(estop.stats().inFlight).toBe(0);
  });

  test('a call that ends within the grace ends well', async () => {
    const { estop, holding, clock, connect } = await make(setup);
    const gone = (await connect()).call(1, 'hold');
    const held = await holding.started(1);
    gone.hangUp();
    await gone.over;
    await until(() => clock.pending > 0, 'the hang-up is seen');
    held.returns();
    await turns();
    expect(estop.stats().inFlight).toBe(0);
    expect(held.signal.aborted).toBe(false);
    expect(clock.pending).toBe(0);
  });

  test('the end of the session stops its calls, and answers those who wait', async () => {
    const { holding, connect } = await make(setup);
    const client = await connect();
    const exchange = client.call(1, 'hold');
    const held = await holding.started(1);
    await client.delete().over;
    expect(await held.stopped).toMatchObject({ kind: 'disconnected' });
    expect(await exchange.over).toBe('ended');
    expect(exchange.frames.filter(({ result }) => result !== undefined)).toEqual([]);
  });
});

describe.each(STATEFUL.filter(({ json }) => !json))('$name', (setup) => {
  test('a stream that the server closes is no hang-up: its call goes on', async () => {
    const { estop, holding, clock, transports, connect } = await make(setup);
    const client = await connect();
    const exchange = client.call(1, 'hold');
    const held = await holding.started(1);
    await exchange.began;
    const [transport] = [...transports.values()] as { closeSSEStream(id: number): void }[];
    transport?.closeSSEStream(1);
    expect(await exchange.over).toBe('ended');
    // When this one is answered, the end of the other has been seen.
    await client.call(2, 'quick').answer(2);
    clock.advance(10 * GRACE_MS);
    expect(held.signal.aborted).toBe(false);
    held.returns();
    await turns();
    expect(estop.stats().inFlight).toBe(0);
  });
});

describe.each(STATELESS)('$name', (setup) => {
  test('a hang-up stops the call at once, for its server is closed', async () => {
    const { estop, holding, connect } = await make(setup);
    const gone = (await connect()).call(1, 'hold');
    const held = await holding.started(1);
    gone.hangUp();
    expect(await held.stopped).toMatchObject({ kind: 'disconnected' });
    held.returns();
    await turns();
    expect(estop.stats().inFlight).toBe(0);
  });
});

describe.each(SETUPS)('$name', (setup) => {
  test('behind a proxy that half-closes a hang-up stops the call, and a cancel ends its exchange', async () => {
    const { estop, holding, clock, url } = await make(setup);
    const proxied = await startHalfClosing(url);
    const client = await new RawClient(proxied, setup.era).initialize();
    const gone = client.call(1, 'hold');
    const one = await holding.started(1);
    gone.hangUp();
    await gone.over;
    if (setup.sessions) {
      await until(() => clock.pending > 0, 'the hang-up is seen');
      clock.advance(GRACE_MS);
    }
    expect(await one.stopped).toMatchObject({ kind: 'disconnected' });
    if (setup.era === 'legacy') {
      const exchange = client.call(2, 'hold');
      await holding.started(2);
      await client.cancel(2);
      expect(await exchange.over).toBe('ended');
    }
    holding.releaseAll();
    await turns();
    expect(estop.stats().inFlight).toBe(0);
  });
});
