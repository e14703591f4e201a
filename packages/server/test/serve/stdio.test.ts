/** Real processes on real pipes, in both eras; and what differs when a transport in memory is served. */
import { createEstop } from '@estop/server';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { describe, expect, test } from 'vitest';
import { startServer } from '../support/child.ts';
import { HeldServer, RESULT } from '../support/held-server.ts';
import { type Major, MCP_SERVERS } from '../support/majors.ts';
import { cancelFrame, ERAS, type Era, MemoryPeer, serveProtected } from '../support/peer.ts';
import { soon, turns } from '../support/waiting.ts';

const WELL = { code: 0, signal: null };
/** Far above any wait in these tests: a process that exits in time does not do so because the grace is over. */
const LONG_GRACE = { GRACE_MS: '600000' };

const PROCESSES: [string, Era, Record<string, string>][] = [
  ...ERAS.map((era): (typeof PROCESSES)[number] => [`SDK v2, ${era}`, era, {}]),
  ['SDK v1', 'legacy', { SDK: 'v1' }],
];

describe.each(PROCESSES)('a server process, %s', (_what, era, env) => {
  test('a call and its cancel in one write: the handler is never started, and nothing is written', async () => {
    const peer = await startServer(era, env);
    peer.write(peer.callTool(7, 'hold'), cancelFrame(7));
    expect(await startsSeenBy(peer)).toEqual([]);
    expect(peer.about(7)).toEqual([]);
    peer.end();
    expect(await peer.child.exited).toEqual(WELL);
  });

  test('also when these two are the very first that it reads', async () => {
    const peer = await startServer(era, env);
    // In the modern era nothing has been read yet; in the legacy one, only the handshake.
    peer.write(peer.callTool(0, 'hold'), cancelFrame(0), peer.callTool(1, 'starts'));
    expect((await peer.answer(1)).result.content[0].text).toBe('[]');
    expect(peer.about(0)).toEqual([]);
    peer.end();
    expect(await peer.child.exited).toEqual(WELL);
  });

  test('a cancel reaches the handler, and the process lives on', async () => {
    const peer = await startServer(era, env);
    peer.write(peer.callTool(7, 'hold'));
    await peer.child.said('started 7');
    peer.write(cancelFrame('7'), cancelFrame(7));
    await peer.child.said('stopped 7: cancelled');
    expect(await startsSeenBy(peer)).toEqual([7]);
    expect(peer.about(7)).toEqual([]);
    peer.end();
    expect(await peer.child.exited).toEqual(WELL);
  });

  test('the end of stdin stops every call as disconnected, and the process exits with 0', async () => {
    const peer = await startServer(era, { ...env, ...LONG_GRACE });
    peer.write(peer.callTool(7, 'hold'), peer.callTool('8', 'hold'));
    await peer.child.said('started 7');
    await peer.child.said('started "8"');
    peer.end();
    expect(await peer.child.exited).toEqual(WELL);
    expect(peer.child.stderr()).toContain('stopped 7: disconnected');
    expect(peer.child.stderr()).toContain('stopped "8": disconnected');
    expect(peer.about(7)).toEqual([]);
  });

  test('a handler that hears its signal and goes on does not keep the process: it exits with 0 after the grace', async () => {
    const peer = await startServer(era, env);
    peer.write(peer.callTool(7, 'deaf'));
    await peer.child.said('started 7');
    peer.end();
    expect(await peer.child.exited).toEqual(WELL);
    expect(peer.child.stderr()).toContain('heard, and goes on: disconnected');
  });

  test('a handler that has something to clean up is given the grace for it', async () => {
    const peer = await startServer(era, { ...env, ...LONG_GRACE });
    peer.write(peer.callTool(7, 'cleans-up'));
    await peer.child.said('started 7');
    peer.end();
    expect(await peer.child.exited).toEqual(WELL);
    expect(peer.child.stderr()).toContain('cleaned up');
  });

  test('an isolated function that spins does not keep the process either', async () => {
    const peer = await startServer(era, env);
    peer.write(peer.callTool(7, 'isolated', { export: 'spin' }));
    await peer.child.said('spinning');
    expect(await startsSeenBy(peer)).toEqual([]);
    peer.end();
    expect(await peer.child.exited).toEqual(WELL);
  });

  test('nothing is in flight: it exits at once, without a grace', async () => {
    const peer = await startServer(era, { ...env, ...LONG_GRACE });
    await startsSeenBy(peer);
    peer.end();
    expect(await peer.child.exited).toEqual(WELL);
  });

  test('its stdin ends before anything was said: it exits with 0', async () => {
    const peer = await startServer(era, { ...env, ...LONG_GRACE });
    peer.end();
    expect(await peer.child.exited).toEqual(WELL);
  });

  test('an answer that was written before stdin ended arrives whole, though the client reads it later', async () => {
    const bytes = 2_000_000;
    const peer = await startServer(era, { ...env, ...LONG_GRACE });
    peer.child.process.stdout.pause();
    peer.write(peer.callTool(7, 'big', { bytes }));
    await peer.child.said('answered');
    peer.end();
    peer.child.process.stdout.resume();
    expect((await peer.answer(7)).result.content[0].text).toHaveLength(bytes);
    expect(await peer.child.exited).toEqual(WELL);
  });

  test('a client that has stopped to read is no crash', async () => {
    const peer = await startServer(era, { ...env, ...LONG_GRACE });
    await startsSeenBy(peer);
    peer.child.process.stdout.destroy();
    peer.write(peer.callTool(7, 'starts'), peer.callTool(8, 'starts'));
    peer.end();
    expect(await peer.child.exited).toEqual(WELL);
    expect(peer.child.stderr()).not.toContain('Error');
  });
});

const IN_MEMORY: [string, Era, Major][] = [
  ...ERAS.map((era): (typeof IN_MEMORY)[number] => [`SDK v2, ${era}`, era, 'v2']),
  ['SDK v1', 'legacy', 'v1'],
];

describe.each(IN_MEMORY)('a transport in memory, %s', (_what, era, major) => {
  test('close() stops every call, resolves when they have ended, and never exits the process', async () => {
    const held = new HeldServer(major);
    const { peer, served } = await serveProtected(era, createEstop(), () => held.server);
    peer.write(peer.callTool(7, 'hold'));
    const { signal, returns } = await held.handlerStarted(7);
    let over = false;
    const closed = served.close().then(() => {
      over = true;
    });
    await turns();
    expect(signal.reason).toMatchObject({ kind: 'disconnected' });
    expect(over).toBe(false);
    returns(RESULT);
    await soon(closed, 'close() resolves');
    await soon(served.closed, 'closed resolves');
    // An exit would take this very process down, in the turns that follow.
    await turns();
    expect(peer.about(7)).toEqual([]);
  });

  test('a client that hangs up does not exit the process either', async () => {
    const held = new HeldServer(major);
    const { peer, served } = await serveProtected(era, createEstop(), () => held.server);
    peer.write(peer.callTool(7, 'hold'));
    const { signal, returns } = await held.handlerStarted(7);
    await peer.hangUp();
    expect(signal.reason).toMatchObject({ kind: 'disconnected' });
    returns(RESULT);
    await soon(served.closed, 'closed resolves');
    await turns();
  });

  test('a second close() is fine', async () => {
    const { served } = await serveProtected(era, createEstop(), () => new HeldServer(major).server);
    await served.close();
    await soon(served.close(), 'it resolves again');
  });

  test('two connections of one engine: each factory call serves its own, and the end of one is not that of the other', async () => {
    const estop = createEstop();
    const one = new HeldServer(major);
    const two = new HeldServer(major);
    const first = await serveProtected(era, estop, () => one.server);
    const second = await serveProtected(era, estop, () => two.server);
    first.peer.write(first.peer.callTool(7, 'hold'));
    second.peer.write(second.peer.callTool(7, 'hold'));
    const here = await one.handlerStarted(7);
    const there = await two.handlerStarted(7);
    here.returns(RESULT);
    await first.peer.answer(7);
    await first.served.close();
    expect(there.signal.aborted).toBe(false);
    there.returns(RESULT);
    expect((await second.peer.answer(7)).result).toMatchObject(RESULT);
  });

  test('a factory that protects its server itself, with options of its own, is served as well', async () => {
    const estop = createEstop();
    const { peer } = await serveProtected(era, estop, () => {
      const server = new MCP_SERVERS[major]({ name: 'own', version: '1' });
      server.registerTool('slow', {}, () => new Promise(() => {}));
      return estop.protect(server, { tools: { slow: { timeoutMs: 1 } } });
    });
    const { result } = await peer.request('tools/call', { name: 'slow' });
    expect(result.content[0].text).toBe('tool "slow" reached its deadline of 1 ms');
    peer.write(peer.callTool(7, 'slow'), cancelFrame(7));
    await peer.fence();
    expect(peer.about(7)).toEqual([]);
  });
});

describe.each(ERAS)('a transport in memory, %s', (era) => {
  test('a factory that fails: its client is told, and no call is left behind', async () => {
    const estop = createEstop();
    const errors: Error[] = [];
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    const peer = new MemoryPeer(era, ours);
    const serving = await estop.serveStdio(
      () => {
        throw new Error('no server today');
      },
      { transport: theirs, onerror: (error) => errors.push(error) },
    );
    const { error } = await peer.request('tools/call', { name: 'any' });
    expect(error.code).toBe(-32_603);
    expect(errors.map(({ message }) => message)).toContain('no server today');
    expect(estop.stats().inFlight).toBe(0);
    await serving.close();
  });
});

test('a server that serves the modern era alone refuses a legacy client, and keeps no call of it', async () => {
  const estop = createEstop();
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const peer = new MemoryPeer('legacy', ours);
  const serving = await estop.serveStdio(() => new HeldServer().server, { transport: theirs, legacy: 'reject' });
  expect((await peer.request('tools/call', { name: 'hold' })).error).toBeDefined();
  expect(estop.stats().inFlight).toBe(0);
  await serving.close();
});

/** The calls whose handlers had been started when this was asked, by the server's own count. */
async function startsSeenBy(peer: Awaited<ReturnType<typeof startServer>>): Promise<unknown> {
  return JSON.parse((await peer.request('tools/call', { name: 'starts' })).result.content[0].text);
}
