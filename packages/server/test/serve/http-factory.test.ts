/** What a door asks of a factory and tells it, on the web's requests; and what goes wrong there. */
import { createEstop, type EstopOptions, type HttpHandlerOptions, type HttpServeContext } from '@estop/server';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Holding, RESULT } from '../support/http-setups.ts';
import type { Era } from '../support/peer.ts';
import { RawClient } from '../support/raw-http.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { latch, soon, turns, until } from '../support/waiting.ts';
import { made, serverOf, WAYS, type Way } from './doors.ts';

type Sdk = Way['sdk'];

interface Asked {
  readonly told: HttpServeContext[];
  readonly errors: Error[];
  fetch: ReturnType<ReturnType<typeof createEstop>['fetchHandler']>['fetch'];
}

function door(sdk: Sdk, handler: HttpHandlerOptions = {}, options: EstopOptions = {}, before = (): void => {}): Asked {
  const estop = createEstop({ clock: new VirtualClock(), cleanupMs: Infinity, graceMs: 0, ...options });
  const holding = new Holding();
  const asked: Pick<Asked, 'told' | 'errors'> = { told: [], errors: [] };
  const { fetch, destroy } = estop.fetchHandler(
    async (context) => {
      asked.told.push(context);
      before();
      return serverOf(sdk, holding);
    },
    { onerror: (error) => void asked.errors.push(error), ...handler },
  );
  onTestFinished(async () => {
    holding.releaseAll();
    await destroy();
  });
  return { ...asked, fetch };
}

/** The request that a raw client would send. */
function post(era: Era, headers: Record<string, string> = {}, name = 'quick'): Request {
  const client = new RawClient('http://door.example/mcp', era);
  const standard = { 'mcp-method': 'tools/call', 'mcp-name': name };
  return new Request(client.url, {
    method: 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': era === 'modern' ? '2026-07-28' : '2025-11-25',
      ...(era === 'modern' && standard),
      ...headers,
    },
    body: JSON.stringify(client.callTool(1, name)),
  });
}

const KINDS: readonly (readonly [Sdk, Era])[] = [
  ['v1', 'legacy'],
  ['v2', 'legacy'],
  ['v2', 'modern'],
];

describe.each(KINDS)('SDK %s, %s', (sdk, era) => {
  test('the factory is told the era, who asks, and the request, with nothing of estop in it', async () => {
    const { fetch, told } = door(sdk);
    const response = await fetch(post(era, { 'x-own': 'here', 'x-estop-exchange': 'forged' }), {
      authInfo: { user: 'ada' },
    });
    expect(await response.text()).toContain('the result');
    const { authInfo, requestInfo, era: toldEra } = told.at(-1) as HttpServeContext;
    expect({ authInfo, era: toldEra }).toEqual({ authInfo: { user: 'ada' }, era });
    expect(requestInfo.url).toBe('http://door.example/mcp');
    expect(requestInfo.headers.get('x-own')).toBe('here');
    expect([...requestInfo.headers.keys()].filter((name) => name.includes('estop'))).toEqual([]);
  });

  test('is asked once for each POST, and once before the first, to see of which major it is', async () => {
    const { fetch, told } = door(sdk);
    for (const count of [2, 3]) {
      await (await fetch(post(era))).text();
      expect(told).toHaveLength(count);
    }
  });

  test('a body that was read already is taken as it was read', async () => {
    const { fetch } = door(sdk);
    const request = post(era);
    const parsedBody = await request.json();
    expect(await (await fetch(request, { parsedBody })).text()).toContain('the result');
  });

  test('what a factory throws is answered with 500 and heard of, and the next request is served', async () => {
    let isBroken = true;
    const { fetch, errors } = door(sdk, {}, {}, () => {
      if (isBroken) throw new Error('no database');
    });
    const response = await fetch(post(era));
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ error: { code: -32_603 } });
    expect(errors.map(({ message }) => message)).toEqual(['no database']);
    isBroken = false;
    expect(await (await fetch(post(era))).text()).toContain('the result');
  });

  test('what is no JSON is refused as the SDK does', async () => {
    const { fetch } = door(sdk);
    const { headers } = post(era);
    const response = await fetch(new Request('http://door.example/mcp', { method: 'POST', headers, body: '{' }));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: -32_700 } });
  });
});

test('a server that its factory has protected stays as it is', async () => {
  const way = WAYS.legacy[0] as Way;
  const { holding, estop } = await made(way);
  const rules = { tools: { quick: { timeoutMs: 5 } } };
  const { fetch, destroy } = estop.fetchHandler(() => estop.protect(serverOf('v2', holding), rules));
  expect(await (await fetch(post('legacy'))).text()).toContain('the result');
  await destroy();
});

describe('legacy: "reject"', () => {
  test('refuses a legacy client, and serves a modern one', async () => {
    const { fetch } = door('v2', { legacy: 'reject' });
    const refused = await fetch(post('legacy'));
    expect(refused.status).toBe(400);
    expect(await (await fetch(post('modern'))).text()).toContain('the result');
  });

  test('leaves nobody for a server of v1, and that is said', async () => {
    const { fetch, errors } = door('v1', { legacy: 'reject' });
    expect((await fetch(post('legacy'))).status).toBe(500);
    expect(errors[0]?.message).toContain('speaks the legacy era alone');
  });
});

test('a modern client of a server of v1 is told by the SDK that its revision is not spoken', async () => {
  const { fetch } = door('v1');
  const response = await fetch(post('modern'));
  expect(response.status).toBe(400);
  expect(await response.text()).toContain('Unsupported protocol version');
});

test('so that a client that finds out the era by itself speaks the legacy one', async () => {
  const { url } = await made(WAYS.legacy[0] as Way);
  const client = new Client({ name: 'client', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  onTestFinished(() => client.close());
  expect(client.getProtocolEra()).toBe('legacy');
  expect(await client.callTool({ name: 'quick' })).toMatchObject(RESULT);
});

describe.each(['v1', 'v2'] as const)('SDK %s, with a store of events', (sdk) => {
  test('a hang-up is no stop, and the client fetches its answer later', async () => {
    const stores: string[] = [];
    const way: Way = { name: '', sdk, era: 'legacy', options: { sessions: true } };
    const eventStore = (sessionId: string): object => {
      stores.push(sessionId);
      return new Events();
    };
    const { clock, holding, estop, connect } = await made(way, { handler: { eventStore } });
    const client = await connect();
    expect(stores).toEqual([client.sessionId]);
    const exchange = client.call(1, 'hold');
    const held = await holding.started(1);
    await exchange.began;
    const first = await primed(exchange);
    exchange.hangUp();
    await exchange.over;
    await client.call(2, 'quick').answer(2);
    clock.advance(60_000);
    expect(held.signal.aborted).toBe(false);
    held.returns();
    await turns();
    expect((await client.resume(first).answer(1)).result).toMatchObject(RESULT);
    expect(estop.stats().inFlight).toBe(0);
  });
});

test('a door that is shut waits for an answer that is still being stored', async () => {
  const way: Way = { name: '', sdk: 'v2', era: 'legacy', options: { sessions: true } };
  const events = new Events();
  const { holding, door, connect } = await made(way, { handler: { eventStore: () => events } });
  const exchange = (await connect()).call(1, 'hold');
  const held = await holding.started(1);
  const stored = latch();
  events.ready = stored.promise;
  held.signal.addEventListener('abort', () => held.returns());
  const destroying = door.destroy();
  for (let n = 0; n < 10; n += 1) await turns();
  stored.open();
  expect((await exchange.answer(1)).result).toMatchObject({ isError: true });
  await soon(destroying, 'the door is closed');
});

async function primed(exchange: { readonly eventIds: string[] }): Promise<string> {
  await until(() => exchange.eventIds.length > 0, 'the stream has an event');
  return exchange.eventIds[0] as string;
}

/** As the SDK's examples have it. */
class Events {
  /** What is to be stored waits for it. */
  ready = Promise.resolve();
  readonly #events: { readonly id: string; readonly streamId: string; readonly message: unknown }[] = [];

  async storeEvent(streamId: string, message: unknown): Promise<string> {
    await this.ready;
    const id = `${streamId}_${this.#events.length}`;
    this.#events.push({ id, streamId, message });
    return id;
  }

  async replayEventsAfter(
    last: string,
    { send }: { send(id: string, message: unknown): Promise<void> },
  ): Promise<string> {
    const at = this.#events.findIndex(({ id }) => id === last);
    const streamId = this.#events[at]?.streamId ?? '';
    for (const event of this.#events.slice(at + 1)) {
      if (event.streamId === streamId && Object.keys(event.message as object).length > 0)
        await send(event.id, event.message);
    }
    return streamId;
  }
}
