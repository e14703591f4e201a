/** Several requests in one session: ids, batches, and streams that are resumed. */
import { InMemoryEventStore } from '@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js';
import { describe, expect, test } from 'vitest';
import { RESULT, SETUPS } from '../../support/http-setups.ts';
import { cancelFrame } from '../../support/peer.ts';
import { turns, until } from '../../support/waiting.ts';
import { make } from './make.ts';

const STATEFUL = SETUPS.filter(({ sessions }) => sessions);
const LEGACY = SETUPS.filter(({ era }) => era === 'legacy');
const RESUMABLE = STATEFUL.filter(({ json }) => !json);

describe.each(STATEFUL)('$name', (setup) => {
  test('an id that is in flight is refused, and its call is answered', async () => {
    const { holding, connect } = await make(setup);
    const client = await connect();
    const first = client.call(1, 'hold');
    const held = await holding.started(1);
    const second = client.call(1, 'quick');
    expect((await second.answer(1)).error).toMatchObject({ code: -32_600 });
    expect(second.status).toBe(400);
    // The same id of another type is another id.
    expect((await client.call('1', 'quick').answer('1')).result).toMatchObject(RESULT);
    held.returns();
    expect((await first.answer(1)).result).toMatchObject(RESULT);
    expect((await client.call(1, 'quick').answer(1)).result).toMatchObject(RESULT);
  });

  test('an id that a batch has twice is refused, or answered once, and nothing is left of it', async () => {
    const { estop, connect } = await make(setup);
    const client = await connect();
    const batch = client.post([client.callTool(1, 'quick'), client.callTool(1, 'quick')]);
    const answer = await batch.answer(1);
    // A web request is read ahead only where another one is open.
    if (!setup.name.endsWith('on Hono')) expect(answer.error).toMatchObject({ code: -32_600 });
    expect(await batch.over).toBe('ended');
    await turns();
    expect(estop.stats().inFlight).toBe(0);
    expect((await client.call(1, 'quick').answer(1)).result).toMatchObject(RESULT);
  });
});

describe.each(LEGACY)('$name', (setup) => {
  test.each([
    ['cancelled first', true],
    ['answered first', false],
  ])('of a batch of two the one is %s: the other one is answered, and the exchange ends', async (_way, cancelFirst) => {
    const { estop, holding, connect } = await make(setup);
    const client = await connect();
    const batch = client.post([client.callTool(1, 'hold'), client.callTool(2, 'hold')]);
    const [one, two] = [await holding.started(1), await holding.started(2)];
    if (!cancelFirst) {
      two.returns();
      await turns();
    }
    await client.cancel(1);
    await one.stopped;
    if (cancelFirst) two.returns();
    expect((await batch.answer(2)).result).toMatchObject(RESULT);
    expect(await batch.over).toBe('ended');
    expect(batch.frames.length).toBe(1);
    one.returns();
    await turns();
    expect(estop.stats().inFlight).toBe(0);
  });

  test('a call and its cancel in one batch: the handler is never started, and the exchange ends', async () => {
    const { estop, holding, connect } = await make(setup);
    const client = await connect();
    const both = client.post([client.callTool(1, 'hold'), cancelFrame(1)]);
    expect(await both.over).toBe('ended');
    expect(both.body).toBe('');
    expect(holding.starts).toEqual([]);
    expect(estop.stats().inFlight).toBe(0);
  });

  test('of a batch all are cancelled: nothing is written, and the exchange ends', async () => {
    const { estop, holding, connect } = await make(setup);
    const client = await connect();
    const batch = client.post([client.callTool(1, 'hold'), client.callTool(2, 'hold')]);
    const helds = [await holding.started(1), await holding.started(2)];
    const cancels = client.post([cancelFrame(1), cancelFrame(2)]);
    await cancels.over;
    for (const held of helds) await held.stopped;
    expect(await batch.over).toBe('ended');
    expect(batch.body).toBe('');
    for (const held of helds) held.returns();
    await turns();
    expect(estop.stats().inFlight).toBe(0);
  });
});

describe.each(RESUMABLE)('$name, resumable', (setup) => {
  const resumable = () => make(setup, {}, { eventStore: new InMemoryEventStore() });

  test('a hang-up stops nothing, and the answer can be fetched', async () => {
    const { holding, clock, connect } = await resumable();
    const client = await connect();
    const first = client.call(1, 'hold');
    const held = await holding.started(1);
    await first.began;
    await until(() => first.eventIds.length > 0, 'an event came');
    first.hangUp();
    await first.over;
    // When this one is answered the server has seen that the client is gone.
    await client.call(2, 'quick').answer(2);
    clock.advance(3_600_000);
    expect(held.signal.aborted).toBe(false);
    const second = client.resume(first.eventIds[0] as string);
    await second.began;
    held.returns();
    expect((await second.answer(1)).result).toMatchObject(RESULT);
    expect(await second.over).toBe('ended');
  });

  test('a cancel ends the stream, and who resumes it is told that there is nothing more', async () => {
    const { holding, connect } = await resumable();
    const client = await connect();
    const first = client.call(1, 'hold');
    const held = await holding.started(1);
    await until(() => first.eventIds.length > 0, 'an event came');
    await client.cancel(1);
    await held.stopped;
    expect(await first.over).toBe('ended');
    expect(first.frames).toEqual([]);
    const again = client.resume(first.eventIds[0] as string);
    expect(await again.over).toBe('ended');
    expect(again.status).toBe(204);
  });

  test('a cancel ends a stream that was resumed, for good', async () => {
    const { holding, connect } = await resumable();
    const client = await connect();
    const first = client.call(1, 'hold');
    const held = await holding.started(1);
    await until(() => first.eventIds.length > 0, 'an event came');
    first.hangUp();
    await first.over;
    const second = client.resume(first.eventIds[0] as string);
    await second.began;
    await tell(held.context, 'on the second stream');
    await until(() => second.eventIds.length > 0, 'an event came');
    await client.cancel(1);
    await held.stopped;
    expect(await second.over).toBe('ended');
    expect(second.frames.map(({ method }) => method)).toEqual(['notifications/message']);
    for (const after of [first.eventIds[0], second.eventIds[0]]) {
      const third = client.resume(after as string);
      await third.over;
      expect(third.status).toBe(204);
    }
  });
});

async function tell(
  context: {
    sendNotification?: (message: object) => Promise<void>;
    mcpReq?: { notify(message: object): Promise<void> };
  },
  data: string,
): Promise<void> {
  const message = { method: 'notifications/message', params: { level: 'info', data } };
  await (context.mcpReq?.notify(message) ?? context.sendNotification?.(message));
}
