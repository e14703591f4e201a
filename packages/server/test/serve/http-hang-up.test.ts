/** A client that goes away from a door: in the legacy era its calls have a grace, wherever it has gone. */
import { describe, expect, test } from 'vitest';
import { RESULT } from '../support/http-setups.ts';
import { latch, soon, turns, until } from '../support/waiting.ts';
import { type Made, made, WAYS } from './doors.ts';

const DISCONNECT_GRACE_MS = 5_000;

describe.each(WAYS.legacy)('$name', (way) => {
  test('a hang-up stops the call when the grace is over, and no other', async () => {
    const all = await made(way);
    const { estop, holding, clock, connect } = all;
    const client = await connect();
    const gone = client.call(1, 'hold');
    const kept = client.call(2, 'hold');
    const [one, two] = [await holding.started(1), await holding.started(2)];
    await hangUp(gone, all);
    clock.advance(DISCONNECT_GRACE_MS - 1);
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

  test('a call that ends within the grace ends well', async () => {
    const all = await made(way);
    const { estop, holding, clock, servers, connect } = all;
    const gone = (await connect()).call(1, 'hold');
    const held = await holding.started(1);
    await hangUp(gone, all);
    held.returns();
    await turns();
    expect(held.signal.aborted).toBe(false);
    expect(estop.stats().inFlight).toBe(0);
    clock.advance(DISCONNECT_GRACE_MS);
    await turns();
    expect(clock.pending).toBe(0);
    expect(servers()).toBe(way.options.sessions ? 1 : 0);
  });
});

describe.each(WAYS.all.filter(({ options }) => !options.sessions))('$name', (way) => {
  test('a hang-up while the factory is at work counts: the handler is stopped, or never started', async () => {
    const factory = { isHeld: false, entered: latch(), goesOn: latch() };
    const all = await made(way, {
      before: async () => {
        if (!factory.isHeld) return;
        factory.entered.open();
        await factory.goesOn.promise;
      },
    });
    const { estop, holding, clock, http, connect } = all;
    const client = await connect();
    await client.call(1, 'quick').answer(1);
    factory.isHeld = true;
    const gone = client.call(7, 'hold');
    await soon(factory.entered.promise, 'the factory is asked');
    gone.hangUp();
    await closedOnce(http);
    factory.goesOn.open();
    if (way.era === 'legacy') await holding.started(7);
    await turns();
    clock.advance(DISCONNECT_GRACE_MS);
    for (const id of holding.starts)
      expect(await (await holding.started(id)).stopped).toMatchObject({ kind: 'disconnected' });
    expect(estop.stats().running).toBe(0);
    holding.releaseAll();
    await turns();
    expect(estop.stats().inFlight).toBe(0);
  });
});

async function hangUp(exchange: { hangUp(): void; over: Promise<unknown> }, { clock }: Made): Promise<void> {
  exchange.hangUp();
  await exchange.over;
  // Both set a timer: the exchange for its call, and the door for its server.
  await until(() => clock.pending > 0, 'the hang-up is seen');
}

/** Resolves when the server has fewer connections than now. */
async function closedOnce(http: Made['http']): Promise<void> {
  const count = (): Promise<number> => new Promise((resolve) => http.getConnections((_, n) => resolve(n)));
  const before = await count();
  const wait = async (): Promise<void> => {
    while ((await count()) >= before) await new Promise(setImmediate);
  };
  await soon(wait(), 'the server sees that the client is gone');
}
