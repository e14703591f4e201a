import { getEventListeners } from 'node:events';
import { createMcpServer } from '@estop/server';
import { type Call, cancelled, Engine } from '@estop/server/core';
import { fetch } from '@estop/server/fetch';
import { expect, onTestFinished, test } from 'vitest';
import { startHttpPeer } from '../support/http-peer.ts';
import { processEvents } from '../support/process-events.ts';
import { answerOf, rig } from '../support/rig.ts';
import { latch, turns } from '../support/waiting.ts';

test('a request ends when its call is stopped before the headers, and rejects with the reason', async () => {
  const peer = await startHttpPeer();
  const { call } = rig().start();
  const answer = fetch(call, `${peer.url}/slow`);
  const { givenUp } = await peer.arrived('/slow');
  call.stop(cancelled('client', 'enough'));
  await expect(answer).rejects.toBe(call.reason);
  await givenUp;
});

test('a body that is being read ends when its call is stopped, and errors with the reason', async () => {
  const peer = await startHttpPeer();
  const { call } = rig().start();
  const answer = fetch(call, `${peer.url}/stream`);
  const { writes, givenUp } = await peer.arrived('/stream');
  writes('first');
  const reader = (await answer).body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('first');
  const next = reader?.read();
  call.stop(cancelled('client'));
  await expect(next).rejects.toBe(call.reason);
  await givenUp;
});

test('`text()` of a body that does not end rejects with the reason, and the peer sees it', async () => {
  const peer = await startHttpPeer();
  const { call } = rig().start();
  const answer = fetch(call, `${peer.url}/stream`);
  const { writes, givenUp } = await peer.arrived('/stream');
  writes('first');
  const text = (await answer).text();
  call.stop(cancelled('client'));
  await expect(text).rejects.toBe(call.reason);
  await givenUp;
});

test('a body that nobody reads ends too', async () => {
  const peer = await startHttpPeer();
  const { call } = rig().start();
  const answer = fetch(call, `${peer.url}/unread`);
  const { writes, givenUp } = await peer.arrived('/unread');
  writes('first');
  const response = await answer;
  call.stop(cancelled('client'));
  await givenUp;
  await expect(response.body?.getReader().read()).rejects.toBe(call.reason);
});

test('a request ends at the deadline of its call', async () => {
  const peer = await startHttpPeer();
  const { clock, start } = rig();
  const { call } = start(5_000);
  const answer = fetch(call, `${peer.url}/slow`);
  const { givenUp } = await peer.arrived('/slow');
  clock.advance(5_000);
  await expect(answer).rejects.toMatchObject({ kind: 'deadline', timeoutMs: 5_000 });
  await givenUp;
});

test('a handler of `createMcpServer` gives its context, or the call in it', async () => {
  const peer = await startHttpPeer();
  const app = createMcpServer({ name: 'web' }).tool({
    name: 'page',
    handler: async (_, context) => Promise.all([fetch(context, `${peer.url}/a`), fetch(context.call, `${peer.url}/b`)]),
  });
  const own = new AbortController();
  const answer = answerOf(app.callTool('page', {}, { signal: own.signal }));
  const exchanges = await Promise.all([peer.arrived('/a'), peer.arrived('/b')]);
  own.abort(new Error('the user'));
  await Promise.all(exchanges.map(({ givenUp }) => givenUp));
  await turns();
  expect(answer).toEqual({ times: 1, error: own.signal.reason });
  await app.stop();
});

test('a request of a call that was stopped before is not sent', async () => {
  const peer = await startHttpPeer();
  const { call } = rig().start();
  call.stop(cancelled('client'));
  await expect(fetch(call, `${peer.url}/late`)).rejects.toBe(call.reason);
  expect(peer.paths).toEqual([]);
});

test('the request of a sibling goes on', async () => {
  const peer = await startHttpPeer();
  const { start } = rig();
  const [stopped, sibling] = [start().call, start(Infinity, { id: 2 }).call];
  const first = answerOf(fetch(stopped, `${peer.url}/first`));
  const second = fetch(sibling, `${peer.url}/second`);
  const [{ givenUp }, { ends }] = [await peer.arrived('/first'), await peer.arrived('/second')];
  stopped.stop(cancelled('client'));
  await givenUp;
  ends('whole');
  expect(await (await second).text()).toBe('whole');
  expect(first).toMatchObject({ times: 1, error: stopped.reason });
});

test("the user's own signal still ends it, with its own reason, before and after the headers", async () => {
  const peer = await startHttpPeer();
  const { call } = rig().start();
  for (const path of ['/before', '/after']) {
    const own = new AbortController();
    const answer = fetch(call, `${peer.url}${path}`, { signal: own.signal });
    const { writes, givenUp } = await peer.arrived(path);
    if (path === '/after') writes('first');
    const read = path === '/after' ? (await answer).text() : answer;
    const why = new Error('the user');
    own.abort(why);
    await expect(read).rejects.toBe(why);
    await givenUp;
  }
  expect(call.state).toBe('running');
});

test('the signal of a `Request` counts, unless `init` says otherwise', async () => {
  const peer = await startHttpPeer();
  const { call } = rig().start();
  const own = new AbortController();
  const request = (path: string): Request => new Request(`${peer.url}${path}`, { signal: own.signal });
  const followed = fetch(call, request('/followed'));
  const freed = fetch(call, request('/freed'), { signal: null });
  const [{ givenUp }, { ends }] = [await peer.arrived('/followed'), await peer.arrived('/freed')];
  own.abort(new Error('the user'));
  await expect(followed).rejects.toBe(own.signal.reason);
  await givenUp;
  ends('whole');
  expect(await (await freed).text()).toBe('whole');
});

test('a response is the real one: its URL, its status, its clone', async () => {
  const peer = await startHttpPeer();
  const { call } = rig().start();
  const response = await fetch(call, `${peer.url}/now/x`, { method: 'POST', body: 'sent' });
  expect(response).toBeInstanceOf(Response);
  expect(response).toMatchObject({ url: `${peer.url}/now/x`, status: 200, redirected: false });
  const clone = response.clone();
  expect([await response.text(), await clone.text()]).toEqual(['/now/x', '/now/x']);
});

test('an error of the platform stays what it is', async () => {
  const { call } = rig().start();
  await expect(fetch(call, 'http://127.0.0.1:1/')).rejects.toMatchObject({ message: 'fetch failed' });
  await expect(fetch(call, 'no url')).rejects.toBeInstanceOf(TypeError);
});

test('two thousand requests leave no listener on a signal or a call, and nothing unhandled', async () => {
  const events = processEvents();
  const peer = await startHttpPeer();
  const engine = new Engine({ cleanupMs: Infinity });
  onTestFinished(() => engine.close());
  const call = running(engine);
  const listeners = countStopListeners(call);
  const own = new AbortController();
  let most = 0;
  for (let round = 0; round < 80; round += 1) {
    const batch = Array.from({ length: 25 }, async (_, n) => {
      const response = await fetch(call, `${peer.url}/now/${n}`, { signal: own.signal });
      await (n % 5 === 0 ? response.body?.cancel() : response.text());
    });
    await Promise.all(batch);
    // The end of a body is heard of a turn later.
    await turns();
    most = Math.max(most, listeners.now(), getEventListeners(own.signal, 'abort').length);
  }
  expect(peer.paths).toHaveLength(2_000);
  expect(most).toBe(0);
  expect(getEventListeners(call.signal, 'abort')).toEqual([]);
  expect(events).toEqual({ warnings: [], unhandled: [], uncaught: [] });
}, 60_000);

test('a thousand stopped requests leave nothing unhandled, read or not', async () => {
  const events = processEvents();
  const peer = await startHttpPeer();
  const engine = new Engine({ cleanupMs: Infinity });
  onTestFinished(() => engine.close());
  const own = new AbortController();
  for (let round = 0; round < 40; round += 1) {
    const call = running(engine);
    const paths = Array.from({ length: 25 }, (_, n) => `/${round}/${n}`);
    const answers = paths.map(async (path, n) => {
      const response = await fetch(call, peer.url + path, { signal: own.signal });
      if (n % 3 !== 0) await response.text();
    });
    const settled = Promise.allSettled(answers);
    const exchanges = await Promise.all(paths.map((path) => peer.arrived(path)));
    for (const [n, { writes }] of exchanges.entries()) if (n % 2 === 0) writes('first');
    call.stop(cancelled('client'));
    await settled;
    await Promise.all(exchanges.map(({ givenUp }) => givenUp));
  }
  await turns();
  expect(getEventListeners(own.signal, 'abort')).toEqual([]);
  expect(events).toEqual({ warnings: [], unhandled: [], uncaught: [] });
}, 60_000);

test('the outcome of a call claims nothing of its requests', async () => {
  const peer = await startHttpPeer();
  const { call, returns } = rig().start();
  const answer = answerOf(fetch(call, `${peer.url}/slow`));
  await peer.arrived('/slow');
  call.stop(cancelled('client'));
  returns();
  await turns();
  expect(answer.error).toBe(call.reason);
  expect(call.outcome()).toMatchObject({ state: 'stopped', handler: 'settled', work: 'none' });
});

/** A call whose handler runs until its engine is closed. */
function running(engine: Engine): Call {
  const call = engine.begin({ scope: 'connection:1', id: 1, method: 'tools/call', name: 'scrape' });
  const handler = latch();
  call.onStop(() => handler.open());
  call.run(() => handler.promise, { timeoutMs: Infinity }).catch(() => {});
  return call;
}

/** How many listen for the stop of a call, through the only door that there is. */
function countStopListeners(call: Call): { now(): number } {
  const onStop = call.onStop.bind(call);
  let count = 0;
  call.onStop = (listener) => {
    const takeBack = onStop(listener);
    let isThere = true;
    count += 1;
    return () => {
      if (isThere) count -= 1;
      isThere = false;
      takeBack();
    };
  };
  return { now: () => count };
}
