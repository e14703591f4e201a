/** Sessions of a door, and the ids that stand in for them where there are none. */
import { describe, expect, test } from 'vitest';
import { RESULT } from '../support/http-setups.ts';
import { RawClient } from '../support/raw-http.ts';
import { turns } from '../support/waiting.ts';
import { made, WAYS, type Way } from './doors.ts';

const IDLE_MS = 30 * 60_000;
const principal = (authInfo: unknown): string | undefined => authInfo as string | undefined;
const auth = (request: { headers: Record<string, unknown> }): unknown => request.headers['x-user'];

describe.each(WAYS.legacy.filter(({ options }) => options.sessions))('$name', (way) => {
  test('an unknown session is not found, none is a bad request, and neither asks the factory', async () => {
    let asked = 0;
    const { connect } = await made(way, {
      before: () => {
        asked += 1;
      },
    });
    const client = await connect();
    const before = asked;
    for (const exchange of [client.get(), client.delete(), client.call(1, 'quick')]) await exchange.over;
    client.sessionId = 'unknown';
    for (const exchange of [client.get(), client.call(2, 'quick')]) {
      await exchange.over;
      expect(exchange.status).toBe(404);
    }
    client.sessionId = undefined;
    const none = client.get();
    await none.over;
    expect(none.status).toBe(400);
    expect(asked).toBe(before);
  });

  test('a first request that is no initialize opens none', async () => {
    const { url, clock } = await made(way);
    const exchange = new RawClient(url, 'legacy').call(1, 'quick');
    await exchange.over;
    expect(exchange.status).toBe(400);
    await turns();
    expect(clock.background).toBe(0);
  });

  test('DELETE ends the session: its calls stop, those who wait are let go, and it is found no more', async () => {
    const { estop, holding, clock, connect } = await made(way);
    const client = await connect();
    const exchange = client.call(1, 'hold');
    const held = await holding.started(1);
    const deleted = client.delete();
    await deleted.over;
    expect(deleted.status).toBe(200);
    expect(await held.stopped).toMatchObject({ kind: 'disconnected' });
    expect(await exchange.over).toBe('ended');
    const after = client.call(2, 'quick');
    await after.over;
    expect(after.status).toBe(404);
    held.returns();
    await turns();
    expect(estop.stats().inFlight).toBe(0);
    expect(clock.background).toBe(0);
  });

  test('one in which nothing is open is closed after half an hour, and not before', async () => {
    const { clock, connect } = await made(way);
    const client = await connect();
    await turns();
    clock.advance(IDLE_MS - 1);
    expect((await client.call(1, 'quick').answer(1)).result).toMatchObject(RESULT);
    await turns();
    clock.advance(IDLE_MS - 1);
    expect((await client.call(2, 'quick').answer(2)).result).toMatchObject(RESULT);
    await turns();
    clock.advance(IDLE_MS);
    const after = client.call(3, 'quick');
    await after.over;
    expect(after.status).toBe(404);
    expect(clock.background).toBe(0);
  });

  test('one with an open request is not idle, however long that takes', async () => {
    const { holding, clock, connect } = await made(way);
    const client = await connect();
    const exchange = client.call(1, 'hold');
    const held = await holding.started(1);
    clock.advance(10 * IDLE_MS);
    expect(held.signal.aborted).toBe(false);
    held.returns();
    expect((await exchange.answer(1)).result).toMatchObject(RESULT);
  });

  test('belongs to the principal that opened it: with the same id another one stops nothing and ends nothing', async () => {
    const { holding, connect, url } = await made(way, { estop: { http: { principal } }, auth });
    const ada = await connect({ 'x-user': 'ada' });
    const eve = new RawClient(url, 'legacy', { 'x-user': 'eve' });
    eve.sessionId = ada.sessionId;
    const exchange = ada.call(1, 'hold');
    const held = await holding.started(1);
    expect(await eve.cancel(1)).toBe(202);
    const deleted = eve.delete();
    await deleted.over;
    expect(deleted.status).toBe(404);
    expect(held.signal.aborted).toBe(false);
    await ada.cancel(1);
    expect(await held.stopped).toMatchObject({ kind: 'cancelled' });
    expect(await exchange.over).toBe('ended');
  });
});

describe.each(WAYS.legacy.filter(({ options }) => !options.sessions))('$name', (way) => {
  test('a client is given an id, and its DELETE stops its calls and no others', async () => {
    const { estop, holding, connect } = await made(way);
    const [one, other] = [await connect(), await connect()];
    expect(one.sessionId).toMatch(/^estop-/);
    expect(other.sessionId).not.toBe(one.sessionId);
    const exchanges = [one.call(1, 'hold')];
    const first = await holding.started(1);
    exchanges.push(other.call(1, 'hold'));
    const second = await holding.started(1, 1);
    const deleted = one.delete();
    await deleted.over;
    expect(deleted.status).toBe(200);
    expect(await first.stopped).toMatchObject({ kind: 'disconnected' });
    expect(second.signal.aborted).toBe(false);
    second.returns();
    first.returns();
    for (const exchange of exchanges) expect(await exchange.over).toBe('ended');
    await turns();
    expect(estop.stats().inFlight).toBe(0);
  });

  test("the DELETE of another principal stops nobody's calls", async () => {
    const { holding, connect, url } = await made(way, { estop: { http: { principal } }, auth });
    const ada = await connect({ 'x-user': 'ada' });
    const exchange = ada.call(1, 'hold');
    const held = await holding.started(1);
    const eve = new RawClient(url, 'legacy', { 'x-user': 'eve' });
    eve.sessionId = ada.sessionId;
    await eve.delete().over;
    expect(held.signal.aborted).toBe(false);
    held.returns();
    await exchange.answer(1);
  });

  test('a DELETE with what is no session id stops nothing of its principal', async () => {
    const { holding, connect } = await made(way, { estop: { http: { principal, mintSessions: false } }, auth });
    const ada = await connect({ 'x-user': 'ada' });
    const exchange = ada.call(1, 'hold');
    const held = await holding.started(1);
    ada.sessionId = 'estop- with spaces';
    await ada.delete().over;
    expect(held.signal.aborted).toBe(false);
    held.returns();
    await exchange.answer(1);
  });

  test('GET, and a DELETE without such an id, are not allowed', async () => {
    const { connect } = await made(way);
    const client = await connect();
    const get = client.get();
    await get.over;
    expect(get.status).toBe(405);
    client.sessionId = undefined;
    const deleted = client.delete();
    await deleted.over;
    expect([deleted.status, deleted.headers.allow]).toEqual([405, 'POST']);
  });
});

test.each([
  [{ sessions: 'yes' }, 'sessions must be true or false, got "yes"'],
  [{ json: 1 }, 'json must be true or false, got 1'],
  [{ sessionIdleMs: -1 }, 'sessionIdleMs must be a number of milliseconds >= 0, got -1'],
  [{ legacy: 'no' }, 'legacy must be "serve" or "reject", got "no"'],
  [{ eventStore: {}, sessions: true }, 'eventStore must be a function that makes one, got {}'],
  [{ eventStore: () => ({}) }, 'eventStore is for sessions: add sessions: true'],
])('%j is refused where it is given', async (handler, message) => {
  const way = WAYS.legacy[0] as Way;
  await expect(made({ ...way, options: {} }, { handler: handler as never })).rejects.toThrow(
    `estop: nodeHandler(): ${message}`,
  );
});
