/** A cancel over HTTP, in every way to serve: what stops, what is written, and what is left of it. */
import { describe, expect, test } from 'vitest';
import { RESULT, SETUPS } from '../../support/http-setups.ts';
import { cancelFrame } from '../../support/peer.ts';
import { turns } from '../../support/waiting.ts';
import { make } from './make.ts';

const LEGACY = SETUPS.filter(({ era }) => era === 'legacy');
const MODERN = SETUPS.filter(({ era }) => era === 'modern');

describe.each(SETUPS)('$name', (setup) => {
  test('a call that ends normally is answered, and its exchange ends', async () => {
    const { estop, connect } = await make(setup);
    const exchange = (await connect()).call(1, 'quick');
    expect((await exchange.answer(1)).result).toMatchObject(RESULT);
    expect(await exchange.over).toBe('ended');
    expect(estop.stats().inFlight).toBe(0);
  });

  test('a call at its deadline is answered, and its exchange ends', async () => {
    const { holding, clock, connect } = await make(setup, { timeoutMs: 1_000 });
    const exchange = (await connect()).call(1, 'hold');
    await holding.started(1);
    clock.advance(1_000);
    expect((await exchange.answer(1)).result).toMatchObject({ isError: true });
    expect(await exchange.over).toBe('ended');
  });
});

describe.each(LEGACY)('$name', (setup) => {
  const { json } = setup;

  test('a cancel stops its call, nothing is written for it, and its exchange ends', async () => {
    const { estop, holding, errors, connect } = await make(setup);
    const client = await connect();
    const exchange = client.call(7, 'hold');
    const held = await holding.started(7);
    expect(await client.cancel(7)).toBe(202);
    expect(await held.stopped).toMatchObject({ kind: 'cancelled', by: 'client' });
    expect(await exchange.over).toBe('ended');
    expect(exchange.body).toBe('');
    expect(exchange.status).toBe(json ? 202 : 200);
    held.returns();
    await turns();
    expect((await client.call(7, 'quick').answer(7)).result).toMatchObject(RESULT);
    expect(estop.stats()).toMatchObject({ inFlight: 0, ignoredCancels: 0 });
    expect(errors).toEqual([]);
  });

  test.each([0, '', '7', -1])('the id %j is one that can be cancelled', async (id) => {
    const { holding, connect } = await make(setup);
    const client = await connect();
    const exchange = client.call(id, 'hold');
    const held = await holding.started(id);
    await client.cancel(id);
    await held.stopped;
    expect(await exchange.over).toBe('ended');
    expect(exchange.body).toBe('');
  });

  test('a cancel of another type of id, of an unknown one, and of no id at all stop nothing', async () => {
    const { estop, holding, connect } = await make(setup);
    const client = await connect();
    const exchange = client.call(7, 'hold');
    const held = await holding.started(7);
    for (const id of ['7', 8, undefined, null, { id: 7 }]) await client.cancel(id);
    expect(held.signal.aborted).toBe(false);
    held.returns();
    expect((await exchange.answer(7)).result).toMatchObject(RESULT);
    expect(estop.stats().ignoredCancels).toBeGreaterThanOrEqual(3);
  });

  test('a cancel that comes when the handler has returned changes nothing, or silences: one frame at most', async () => {
    const { estop, holding, connect } = await make(setup);
    const client = await connect();
    for (let id = 1; id <= 20; id += 1) {
      const exchange = client.call(id, 'hold');
      const held = await holding.started(id);
      const cancelled = client.cancel(id);
      for (let n = 0; n < id; n += 1) await Promise.resolve();
      held.returns();
      await cancelled;
      expect(await exchange.over).toBe('ended');
      expect(exchange.frames.length).toBeLessThanOrEqual(1);
    }
    await turns();
    expect(estop.stats().inFlight).toBe(0);
  });

  test("another client's cancel of the same id stops nothing, and both can be cancelled", async () => {
    const { holding, connect } = await make(setup);
    const [one, other] = [await connect(), await connect()];
    const exchanges = [one.call(1, 'hold')];
    const first = await holding.started(1);
    exchanges.push(other.call(1, 'hold'));
    const second = await holding.started(1, 1);
    await other.cancel(1);
    await second.stopped;
    expect(first.signal.aborted).toBe(false);
    await one.cancel(1);
    await first.stopped;
    for (const exchange of exchanges) expect(await exchange.over).toBe('ended');
  });
});

describe.each(MODERN)('$name', (setup) => {
  test('the end of its stream is the cancel', async () => {
    const { estop, holding, connect } = await make(setup);
    const client = await connect();
    const exchange = client.call(7, 'hold');
    const held = await holding.started(7);
    exchange.hangUp();
    expect(await held.stopped).toMatchObject({ kind: 'disconnected' });
    held.returns();
    expect((await client.call(7, 'quick').answer(7)).result).toMatchObject(RESULT);
    expect(estop.stats().inFlight).toBe(0);
  });

  test('it has no session, whatever its headers say', async () => {
    const { estop, holding, connect } = await make(setup, { http: { principal: () => 'ada' } });
    const exchange = (await connect({ 'mcp-session-id': 'mine' })).call(1, 'hold');
    const held = await holding.started(1);
    expect(estop.calls()[0]?.scope).toBe('principal:ada');
    held.returns();
    await exchange.answer(1);
  });

  test('a cancel that is posted is accepted and counted, and stops nothing, whoever sends it', async () => {
    const options = { http: { principal: () => 'the same for all' } };
    const { estop, holding, connect } = await make(setup, options);
    const client = await connect();
    const exchange = client.call(7, 'hold');
    const held = await holding.started(7);
    const frame = { ...cancelFrame(7) };
    const params = { ...frame.params, _meta: client.frame(0, 'x').params._meta };
    const posted = client.post({ ...frame, params });
    await posted.over;
    expect(posted.status).toBe(202);
    expect(estop.stats().ignoredCancels).toBe(1);
    expect(held.signal.aborted).toBe(false);
    held.returns();
    expect((await exchange.answer(7)).result).toMatchObject(RESULT);
  });
});
