import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline as flow } from 'node:stream/promises';
import { cancelled } from '@estop/server/core';
import { stoppedBy } from '@estop/server/undici';
import { Agent, type Dispatcher, fetch, interceptors, Pool, pipeline, request, stream } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { type HttpPeer, startHttpPeer } from '../support/http-peer.ts';
import { processEvents } from '../support/process-events.ts';
import { answerOf, rig } from '../support/rig.ts';
import { latch, soon, turns } from '../support/waiting.ts';

test('a request ends when its call is stopped before the headers, and rejects with the reason', async () => {
  const { peer, agent } = await scene();
  const { call } = rig().start();
  const answer = request(`${peer.url}/slow`, { dispatcher: agent.compose(stoppedBy(call)) });
  const { givenUp } = await peer.arrived('/slow');
  call.stop(cancelled('client', 'enough'));
  await expect(answer).rejects.toBe(call.reason);
  await givenUp;
});

test('a body ends when its call is stopped, and errors with the reason', async () => {
  const { peer, agent } = await scene();
  const { call } = rig().start();
  const answer = request(`${peer.url}/stream`, { dispatcher: agent.compose(stoppedBy(call)) });
  const { writes, givenUp } = await peer.arrived('/stream');
  writes('first');
  const read = (await answer).body.text();
  call.stop(cancelled('client'));
  await expect(read).rejects.toBe(call.reason);
  await givenUp;
});

test('`stream` ends with its call', async () => {
  const { peer, agent } = await scene();
  const { call } = rig().start();
  const sink = new PassThrough();
  const drained = text(sink);
  drained.catch(() => {});
  const done = stream(`${peer.url}/stream`, { dispatcher: agent.compose(stoppedBy(call)), method: 'GET' }, () => sink);
  const { writes, givenUp } = await peer.arrived('/stream');
  writes('first');
  await soon(new Promise((resolve) => sink.once('readable', resolve)), 'the first part comes');
  call.stop(cancelled('client'));
  await expect(done).rejects.toBe(call.reason);
  await givenUp;
});

test('`pipeline` ends with its call', async () => {
  const { peer, agent } = await scene();
  const { call } = rig().start();
  const started = latch();
  const duplex = pipeline(
    `${peer.url}/pipeline`,
    { dispatcher: agent.compose(stoppedBy(call)), method: 'POST' },
    (data) => {
      started.open();
      return data.body;
    },
  );
  const done = flow(['sent'], duplex, async (parts) => text(parts));
  done.catch(() => {});
  const { writes, givenUp } = await peer.arrived('/pipeline');
  writes('first');
  await started.promise;
  call.stop(cancelled('client'));
  await expect(done).rejects.toBe(call.reason);
  await givenUp;
});

test('`fetch` ends with its call; as with any error of a dispatcher, it is among the causes', async () => {
  const { peer, agent } = await scene();
  const { call } = rig().start();
  const answer = fetch(`${peer.url}/slow`, { dispatcher: agent.compose(stoppedBy(call)) });
  const { givenUp } = await peer.arrived('/slow');
  call.stop(cancelled('client'));
  await expect(answer).rejects.toMatchObject({ message: 'fetch failed', cause: { cause: call.reason } });
  await givenUp;
});

test('a request ends at the deadline of its call', async () => {
  const { peer, agent } = await scene();
  const { clock, start } = rig();
  const { call } = start(5_000);
  const answer = request(`${peer.url}/slow`, { dispatcher: agent.compose(stoppedBy(call)) });
  const { givenUp } = await peer.arrived('/slow');
  clock.advance(5_000);
  await expect(answer).rejects.toMatchObject({ kind: 'deadline' });
  await givenUp;
});

test('a request that waits for a connection is given up at once, and is never sent', async () => {
  const { peer, pool } = await scene({ connections: 1 });
  const { start } = rig();
  const [first, waiting] = [start().call, start(Infinity, { id: 2 }).call];
  const answer = request(`${peer.url}/first`, { dispatcher: pool.compose(stoppedBy(first)) });
  const { ends } = await peer.arrived('/first');
  const queued = request(`${peer.url}/queued`, { dispatcher: pool.compose(stoppedBy(waiting)) });
  waiting.stop(cancelled('client'));
  await expect(queued).rejects.toBe(waiting.reason);
  ends('whole');
  expect(await (await answer).body.text()).toBe('whole');
  // Behind it in the same queue.
  await (await request(`${peer.url}/now/behind`, { dispatcher: pool })).body.text();
  expect(peer.paths).toEqual(['/first', '/now/behind']);
});

test('a request of a call that was stopped before is not sent', async () => {
  const { peer, agent } = await scene();
  const { call } = rig().start();
  call.stop(cancelled('client'));
  const dispatcher = agent.compose(stoppedBy(call));
  await expect(request(`${peer.url}/late`, { dispatcher })).rejects.toBe(call.reason);
  await expect(fetch(`${peer.url}/late`, { dispatcher })).rejects.toMatchObject({ cause: { cause: call.reason } });
  expect(peer.paths).toEqual([]);
});

test('the request of a sibling on the same pool goes on', async () => {
  const { peer, pool } = await scene({ connections: 2 });
  const { start } = rig();
  const [stopped, sibling] = [start().call, start(Infinity, { id: 2 }).call];
  const first = answerOf(request(`${peer.url}/first`, { dispatcher: pool.compose(stoppedBy(stopped)) }));
  const second = request(`${peer.url}/second`, { dispatcher: pool.compose(stoppedBy(sibling)) });
  const [{ givenUp }, { ends }] = [await peer.arrived('/first'), await peer.arrived('/second')];
  stopped.stop(cancelled('client'));
  await givenUp;
  ends('whole');
  expect(await (await second).body.text()).toBe('whole');
  expect(first).toMatchObject({ times: 1, error: stopped.reason });
});

test("the user's own signal still ends it, with its own reason", async () => {
  const { peer, agent } = await scene();
  const { call } = rig().start();
  const own = new AbortController();
  const answer = request(`${peer.url}/slow`, { dispatcher: agent.compose(stoppedBy(call)), signal: own.signal });
  const { givenUp } = await peer.arrived('/slow');
  own.abort(new Error('the user'));
  await expect(answer).rejects.toBe(own.signal.reason);
  await givenUp;
});

test('inside of a retry, nothing is tried again after the stop', async () => {
  const { peer, agent } = await scene();
  const { call } = rig().start();
  const dispatcher = agent.compose(stoppedBy(call), interceptors.retry({ minTimeout: 1 }));
  const answer = request(`${peer.url}/tried`, { dispatcher });
  const { givenUp } = await peer.arrived('/tried');
  call.stop(cancelled('client'));
  await expect(answer).rejects.toBe(call.reason);
  await givenUp;
  expect(peer.paths).toEqual(['/tried']);
});

test('a request that ends normally is as without it, and leaves no listener on its call', async () => {
  const events = processEvents();
  const { peer, agent } = await scene();
  const { call } = rig().start();
  const onStop = call.onStop.bind(call);
  let listeners = 0;
  call.onStop = (listener) => {
    const takeBack = onStop(listener);
    listeners += 1;
    return () => {
      listeners -= 1;
      takeBack();
    };
  };
  const dispatcher = agent.compose(stoppedBy(call));
  for (let round = 0; round < 100; round += 1) {
    const paths = Array.from({ length: 10 }, (_, n) => `/now/${n}`);
    const answers = await Promise.all(paths.map((path) => request(peer.url + path, { dispatcher })));
    expect(await Promise.all(answers.map(({ body }) => body.text()))).toEqual(paths);
  }
  expect(listeners).toBe(0);
  await expect(request('http://127.0.0.1:1/', { dispatcher })).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  expect(listeners).toBe(0);
  await turns();
  expect(events).toEqual({ warnings: [], unhandled: [], uncaught: [] });
});

interface Scene {
  readonly peer: HttpPeer;
  readonly agent: Agent;
  readonly pool: Dispatcher;
}

async function scene(options?: Pool.Options): Promise<Scene> {
  const peer = await startHttpPeer();
  const agent = new Agent();
  const pool = new Pool(peer.url, options);
  onTestFinished(async () => {
    await Promise.all([agent.destroy(), pool.destroy()]);
  });
  return { peer, agent, pool };
}
