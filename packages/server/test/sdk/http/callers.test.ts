/** Whose call a cancel over HTTP may stop: that of the same session, principal or address, and of no other. */
import { describe, expect, test } from 'vitest';
import { RESULT, SETUPS } from '../../support/http-setups.ts';
import { make } from './make.ts';

const STATEFUL = SETUPS.filter(({ sessions }) => sessions);
const LEGACY = SETUPS.filter(({ era }) => era === 'legacy');
const STATELESS = LEGACY.filter(({ sessions }) => !sessions);

const auth = ({ headers }: { headers: NodeJS.Dict<string | string[]> }) =>
  headers['x-user'] === undefined
    ? undefined
    : { token: 't', clientId: 'one app', scopes: [], user: headers['x-user'] };
const principal = (authInfo: unknown) => (authInfo as { user?: string } | undefined)?.user;

describe.each(STATELESS)('$name', (setup) => {
  test('a client is given a session of its own, and its cancel finds the call at another server object', async () => {
    const { estop, holding, connect } = await make(setup);
    const [one, other] = [await connect(), await connect()];
    expect(one.sessionId).toMatch(/^estop-[0-9a-f-]{36}$/);
    expect(other.sessionId).not.toBe(one.sessionId);
    const exchange = one.call(1, 'hold');
    const held = await holding.started(1);
    expect(estop.calls().map(({ scope }) => scope)).toEqual([`session:${one.sessionId}`]);
    await other.cancel(1);
    expect(held.signal.aborted).toBe(false);
    await one.cancel(1);
    await held.stopped;
    expect(await exchange.over).toBe('ended');
  });

  test('without such sessions a cancel finds nothing', async () => {
    const { estop, holding, connect } = await make(setup, { http: { mintSessions: false } });
    const client = await connect();
    expect(client.sessionId).toBeUndefined();
    const exchange = client.call(1, 'hold');
    const held = await holding.started(1);
    await client.cancel(1);
    expect(held.signal.aborted).toBe(false);
    expect(estop.stats().ignoredCancels).toBe(1);
    held.returns();
    expect((await exchange.answer(1)).result).toMatchObject(RESULT);
  });

  test('without sessions a principal cancels its own calls; of two with one id none', async () => {
    const { estop, holding, connect } = await make(setup, { http: { mintSessions: false, principal } }, { auth });
    const [ada, again, bob] = [
      await connect({ 'x-user': 'ada' }),
      await connect({ 'x-user': 'ada' }),
      await connect({ 'x-user': 'bob' }),
    ];
    const calls = [ada.call(1, 'hold')];
    const first = await holding.started(1);
    expect(estop.calls()[0]?.scope).toBe('principal:ada');
    await bob.cancel(1);
    expect(first.signal.aborted).toBe(false);
    calls.push(again.call(1, 'hold'));
    const second = await holding.started(1, 1);
    await ada.cancel(1);
    expect(first.signal.aborted || second.signal.aborted).toBe(false);
    second.returns();
    expect((await calls[1]?.answer(1))?.result).toMatchObject(RESULT);
    await again.cancel(1);
    await first.stopped;
    expect(await calls[0]?.over).toBe('ended');
  });

  test('addresses tell clients apart where that was asked for, and headers say nothing of them by themselves', async () => {
    const http = { mintSessions: false, addresses: true };
    const { estop, holding, connect } = await make(setup, { http });
    const liar = await connect({ 'x-forwarded-for': '192.0.2.1' });
    const call = liar.call(1, 'hold');
    const held = await holding.started(1);
    // What the web's Request shows has no address; there every request stands for itself.
    expect(estop.calls()[0]?.scope).toMatch(/^(ip:127\.0\.0\.1|connection:\d+)$/);
    held.returns();
    await call.answer(1);
  });
});

describe.each(STATEFUL)('$name', (setup) => {
  test('with another principal the id of a session is another scope: neither cancel nor goodbye reaches it', async () => {
    const { estop, holding, connect } = await make(setup, { http: { principal } }, { auth });
    const ada = await connect({ 'x-user': 'ada' });
    const bob = await connect({ 'x-user': 'bob' });
    bob.sessionId = ada.sessionId;
    const exchange = ada.call(1, 'hold');
    const held = await holding.started(1);
    expect(estop.calls()[0]?.scope).toBe(`session:${ada.sessionId} ada`);
    expect(await bob.cancel(1)).toBe(202);
    const goodbye = bob.delete();
    await goodbye.over;
    expect(goodbye.status).toBe(404);
    expect(held.signal.aborted).toBe(false);
    held.returns();
    expect((await exchange.answer(1)).result).toMatchObject(RESULT);
    const own = ada.delete();
    await own.over;
    expect(own.status).toBe(200);
  });

  test('what the operator says of a principal by throwing: such a caller shares nothing', async () => {
    const throws = (): never => {
      throw new Error('no such user');
    };
    const { estop, holding, connect } = await make(setup, { http: { principal: throws } });
    const client = await connect();
    const exchange = client.call(1, 'hold');
    const held = await holding.started(1);
    expect(estop.calls()[0]?.scope).toMatch(/^connection:/);
    held.returns();
    expect((await exchange.answer(1)).result).toMatchObject(RESULT);
  });
});

describe.each(SETUPS)('$name', (setup) => {
  test('no handler sees how its exchange was named, and a client cannot name one', async () => {
    const { holding, connect } = await make(setup);
    const client = await connect({ 'x-estop-exchange': 'mine' });
    const exchange = client.call(1, 'hold');
    const held = await holding.started(1);
    expect(JSON.stringify(headersIn(held.context))).not.toMatch(/[0-9a-f]{12}-\d+"/);
    held.returns();
    expect((await exchange.answer(1)).result).toMatchObject(RESULT);
  });
});

function headersIn(context: { requestInfo?: { headers: object }; http?: { req?: { headers: Headers } } }): unknown {
  const web = context.http?.req?.headers;
  return web === undefined ? context.requestInfo?.headers : [...web];
}
