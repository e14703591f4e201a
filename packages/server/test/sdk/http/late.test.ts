/** Clients that are gone before their call was read, and what handlers still say when their exchange has ended. */
import { describe, expect, test } from 'vitest';
import { RESULT, SETUPS } from '../../support/http-setups.ts';
import { processEvents } from '../../support/process-events.ts';
import { latch, turns } from '../../support/waiting.ts';
import { make } from './make.ts';

const GRACE_MS = 5_000;

describe.each(SETUPS.filter(({ sessions }) => !sessions))('$name', (setup) => {
  test('a hang-up while the server is being made is not missed', async () => {
    const [arrived, goesOn] = [latch(), latch()];
    let isHeld = false;
    const beforeServer = async (): Promise<void> => {
      if (!isHeld) return;
      arrived.open();
      await goesOn.promise;
    };
    const { estop, holding, clock, connect } = await make(setup, {}, { beforeServer });
    const client = await connect();
    isHeld = true;
    const gone = client.call(1, 'hold');
    await arrived.promise;
    gone.hangUp();
    await gone.over;
    isHeld = false;
    // When this one is answered the server has seen that the other client is gone.
    expect((await client.call(2, 'quick').answer(2)).result).toMatchObject(RESULT);
    await turns();
    goesOn.open();
    // Either nothing starts, or what starts is stopped when the grace is over.
    for (let n = 0; n < 1_000; n += 1) {
      await new Promise(setImmediate);
      clock.advance(GRACE_MS);
    }
    if (holding.starts.length > 0) await (await holding.started(1)).stopped;
    holding.releaseAll();
    await turns();
    expect(estop.stats().inFlight).toBe(0);
    expect(clock.pending).toBe(0);
  });
});

describe.each(SETUPS)('$name', (setup) => {
  test('what a handler says after a cancel goes nowhere, quietly', async () => {
    const events = processEvents();
    const { holding, servers, connect } = await make(setup);
    const client = await connect();
    const exchange = client.call(1, 'hold', { progressToken: 1 });
    const held = await holding.started(1);
    if (setup.era === 'modern') exchange.hangUp();
    else await client.cancel(1);
    await held.stopped;
    await exchange.over;
    const { mcpReq, sendNotification } = held.context as {
      mcpReq?: { notify(message: object): Promise<void> };
      sendNotification?(message: object): Promise<void>;
    };
    const say = (message: object): unknown => mcpReq?.notify(message) ?? sendNotification?.(message);
    for (const method of ['notifications/message', 'notifications/progress']) {
      void say({ method, params: { progressToken: 1, progress: 1, level: 'info', data: 'late' } });
    }
    if (setup.sessions) {
      // Past the context, as of the call.
      const last = servers.findLast(({ server }) => server.transport !== undefined)?.server;
      const data = { level: 'info', data: 'late' } as const;
      await last?.notification({ method: 'notifications/message', params: data }, { relatedRequestId: 1 });
    }
    held.returns();
    await client.call(2, 'quick').answer(2);
    await turns();
    expect(exchange.frames).toEqual([]);
    expect(events.unhandled).toEqual([]);
  });
});
