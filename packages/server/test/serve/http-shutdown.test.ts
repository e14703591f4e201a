/** The end of a door: what may still end by itself, what is stopped, what is answered, and that nothing is left. */
import { describe, expect, test } from 'vitest';
import { RESULT } from '../support/http-setups.ts';
import { queued } from '../support/protected.ts';
import { noSockets } from '../support/raw-http.ts';
import { GRACE_MS } from '../support/rig.ts';
import { soon, turns } from '../support/waiting.ts';
import { made, WAYS, type Way } from './doors.ts';

const DRAIN_MS = 10_000;

describe.each(WAYS.all)('$name', (way) => {
  test('close() lets what is in flight end, refuses what comes, and closes all', async () => {
    const { estop, holding, door, http, connect } = await made(way);
    const client = await connect();
    const exchange = client.call(1, 'hold');
    const held = await holding.started(1);
    const closing = watched(door.close());
    const refused = client.call(2, 'quick');
    expect((await refused.answer(2)).result).toMatchObject({
      isError: true,
      content: [{ text: 'The server is shutting down' }],
    });
    expect((await client.post(client.frame(3, 'tools/list')).answer(3)).result.tools).toHaveLength(2);
    expect(closing.isDone).toBe(false);
    expect(held.signal.aborted).toBe(false);
    held.returns();
    expect((await exchange.answer(1)).result).toMatchObject(RESULT);
    await soon(closing.done, 'the door is closed');
    const late = client.call(4, 'quick');
    await late.over;
    expect(late.status).toBe(503);
    expect(late.frames).toMatchObject([{ error: { message: 'The server is shutting down' } }]);
    expect(estop.stats()).toMatchObject({ inFlight: 0 });
    client.agent.destroy();
    await noSockets(http);
  });

  test('what has not ended when the drain is over is stopped and answered, deaf or not', async () => {
    const { estop, clock, holding, door, connect } = await made(way);
    const exchange = (await connect()).call(1, 'hold');
    const held = await holding.started(1);
    const closing = watched(door.close());
    clock.advance(DRAIN_MS - 1);
    await turns();
    expect(held.signal.aborted).toBe(false);
    clock.advance(1);
    expect(await held.stopped).toMatchObject({ kind: 'shutdown' });
    expect((await exchange.answer(1)).result).toMatchObject({ isError: true });
    expect(await exchange.over).toBe('ended');
    expect(closing.isDone).toBe(false);
    clock.advance(GRACE_MS);
    await soon(closing.done, 'the door is closed');
    expect(estop.stats()).toMatchObject({ inFlight: 1, abandoned: 1 });
  });

  test('destroy() stops at once, and hurries a close() that waits', async () => {
    const { clock, holding, door, connect } = await made(way);
    const exchange = (await connect()).call(1, 'hold');
    const held = await holding.started(1);
    const closing = watched(door.close());
    const destroying = watched(door.destroy());
    expect(await held.stopped).toMatchObject({ kind: 'shutdown' });
    expect((await exchange.answer(1)).result).toMatchObject({ isError: true });
    held.returns();
    await soon(Promise.all([closing.done, destroying.done]), 'both are done');
    await soon(Promise.all([door.close(), door.destroy()]), 'and so are they a second time');
    expect(clock.pending).toBe(0);
  });

  test('a handler that ends with its signal is answered for before its connection is closed', async () => {
    const { holding, door, connect } = await made(way);
    const exchange = (await connect()).call(1, 'hold');
    const held = await holding.started(1);
    held.signal.addEventListener('abort', () => held.returns());
    const destroying = door.destroy();
    expect((await exchange.answer(1)).result).toMatchObject({ isError: true });
    expect(await exchange.over).toBe('ended');
    await soon(destroying, 'the door is closed');
  });

  test('a call that waits in the queue may still run while the door drains', async () => {
    const { estop, holding, door, connect } = await made(way, { estop: { maxConcurrency: 1 } });
    const client = await connect();
    const exchanges = [client.call(1, 'hold')];
    const first = await holding.started(1);
    exchanges.push(client.call(2, 'hold'));
    await queued(estop, 1);
    const closing = watched(door.close());
    first.returns();
    (await holding.started(2)).returns();
    for (const exchange of exchanges)
      expect((await exchange.answer(exchanges.indexOf(exchange) + 1)).result).toMatchObject(RESULT);
    await soon(closing.done, 'the door is closed');
  });
});

test('estop.close() ends the calls in the same way, and leaves the door open', async () => {
  const { estop, holding, connect } = await made(WAYS.legacy[0] as Way);
  const client = await connect();
  const exchange = client.call(1, 'hold');
  const held = await holding.started(1);
  const closing = watched(estop.close());
  expect((await client.call(2, 'quick').answer(2)).result).toMatchObject({ isError: true });
  expect(closing.isDone).toBe(false);
  held.returns();
  expect((await exchange.answer(1)).result).toMatchObject(RESULT);
  await soon(closing.done, 'the engine is closed');
  expect((await client.post(client.frame(3, 'tools/list')).answer(3)).result.tools).toHaveLength(2);
});

describe.each(WAYS.legacy)('$name', (way) => {
  test('a cancel still finds its call while the door drains', async () => {
    const { holding, door, connect } = await made(way);
    const client = await connect();
    const exchange = client.call(1, 'hold');
    const held = await holding.started(1);
    const closing = watched(door.close());
    expect(await client.cancel(1)).toBe(202);
    expect(await held.stopped).toMatchObject({ kind: 'cancelled' });
    expect(await exchange.over).toBe('ended');
    held.returns();
    await soon(closing.done, 'the door is closed');
  });
});

describe.each(WAYS.legacy.filter(({ options }) => options.sessions))('$name', (way) => {
  test('streams that are only listened to end with the door, and no session is left', async () => {
    const { clock, door, connect } = await made(way);
    const listening = (await connect()).get();
    await listening.began;
    expect(listening.status).toBe(200);
    await soon(door.close(), 'the door is closed');
    expect(await listening.over).toBe('ended');
    expect([clock.pending, clock.background]).toEqual([0, 0]);
  });
});

interface Watched {
  readonly isDone: boolean;
  readonly done: Promise<void>;
}

function watched(promise: Promise<void>): Watched {
  let isDone = false;
  const done = promise.then(() => {
    isDone = true;
  });
  return {
    done,
    get isDone() {
      return isDone;
    },
  };
}
