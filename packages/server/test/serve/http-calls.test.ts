/** Calls, cancels and hang-ups through estop's own doors, frame by frame, in every way in which they serve. */
import { describe, expect, test } from 'vitest';
import { RESULT } from '../support/http-setups.ts';
import { turns } from '../support/waiting.ts';
import { made, WAYS } from './doors.ts';

describe.each(WAYS.all)('$name', (way) => {
  test('a call is answered, its exchange ends, and nothing is left of it', async () => {
    const { estop, servers, connect, errors } = await made(way);
    const exchange = (await connect()).call(1, 'quick');
    expect((await exchange.answer(1)).result).toMatchObject(RESULT);
    expect(await exchange.over).toBe('ended');
    expect(exchange.status).toBe(200);
    expect(exchange.headers['content-type']).toMatch(way.options.json ? /json/ : /json|event-stream/);
    expect(estop.stats().inFlight).toBe(0);
    expect(servers()).toBe(way.options.sessions ? 1 : 0);
    expect(errors).toEqual([]);
  });

  test('a call at its deadline is answered, and its exchange ends', async () => {
    const { holding, clock, connect } = await made(way, { estop: { timeoutMs: 1_000 } });
    const exchange = (await connect()).call(1, 'hold');
    await holding.started(1);
    clock.advance(1_000);
    expect((await exchange.answer(1)).result).toMatchObject({ isError: true });
    expect(await exchange.over).toBe('ended');
  });
});

describe.each(WAYS.legacy)('$name', (way) => {
  test('a cancel stops its call, nothing is written for it, and its exchange ends', async () => {
    const { estop, holding, connect } = await made(way);
    const client = await connect();
    const exchange = client.call(7, 'hold');
    const held = await holding.started(7);
    expect(await client.cancel(7)).toBe(202);
    expect(await held.stopped).toMatchObject({ kind: 'cancelled', by: 'client' });
    expect(await exchange.over).toBe('ended');
    expect(exchange.body).toBe('');
    held.returns();
    await turns();
    expect((await client.call(7, 'quick').answer(7)).result).toMatchObject(RESULT);
    expect(estop.stats()).toMatchObject({ inFlight: 0, ignoredCancels: 0 });
  });
});

describe.each(WAYS.modern)('$name', (way) => {
  test('the end of its stream is the cancel', async () => {
    const { estop, holding, connect } = await made(way);
    const exchange = (await connect()).call(7, 'hold');
    const held = await holding.started(7);
    exchange.hangUp();
    expect(await held.stopped).toMatchObject({ kind: 'disconnected' });
    held.returns();
    await turns();
    expect(estop.stats().inFlight).toBe(0);
  });
});
