/** Which major of the SDK a factory is served with: the one that is installed, or, of two, the one that it uses. */
import { createEstop } from '@estop/server';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { describe, expect, test } from 'vitest';
import { StdioPeer } from '../support/child.ts';
import { HeldServer } from '../support/held-server.ts';
import { MAJORS, type Major } from '../support/majors.ts';
import { startWithOnly } from '../support/only-sdks.ts';
import { type Era, MemoryPeer, serveProtected } from '../support/peer.ts';

const V1 = '@modelcontextprotocol/sdk';
const V2 = '@modelcontextprotocol/server';
const SERVER: Readonly<Record<Major, string>> = { v1: `${V1}/server/mcp.js`, v2: V2 };

describe('with both installed', () => {
  async function erasAskedFor(major: Major, era: Era): Promise<string[]> {
    const asked: string[] = [];
    const { peer } = await serveProtected(era, createEstop(), (serving) => {
      asked.push(serving?.era ?? '');
      return new HeldServer(major).server;
    });
    expect((await peer.request('tools/call', { name: 'quick' })).result.content).toEqual([
      { type: 'text', text: 'quick' },
    ]);
    return asked;
  }

  test.each(MAJORS)('a legacy client gets the very server that was looked at, SDK %s', async (major) => {
    expect(await erasAskedFor(major, 'legacy')).toEqual(['legacy']);
  });

  test('a factory that fails when it is looked at is asked again by the next message', async () => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    const peer = new MemoryPeer('legacy', ours);
    let asked = 0;
    const factory = () => {
      asked += 1;
      if (asked === 1) throw new Error('not yet');
      return new HeldServer().server;
    };
    const serving = await createEstop().serveStdio(factory, { transport: theirs });
    expect((await peer.request('tools/call', { name: 'quick' })).error.code).toBe(-32_603);
    expect((await peer.request('tools/call', { name: 'quick' })).result).toBeDefined();
    expect(asked).toBe(2);
    await serving.close();
  });

  test('a modern client gets one of its own', async () => {
    const asked = await erasAskedFor('v2', 'modern');
    expect(asked[0]).toBe('legacy');
    expect(asked).toContain('modern');
  });

  test('a modern client of a v1 server is refused as by the SDK itself, and may fall back', async () => {
    const { peer } = await serveProtected('legacy', createEstop(), () => new HeldServer('v1').server);
    const { error } = await peer.request('server/discover', { _meta: {} });
    expect(error).toEqual({ code: -32_601, message: 'Method not found' });
    expect((await peer.request('tools/call', { name: 'quick' })).result).toBeDefined();
  });

  test("a v1 server and legacy: 'reject': its client is told, and so is its author", async () => {
    const errors: Error[] = [];
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    const peer = new MemoryPeer('modern', ours);
    const serving = await createEstop().serveStdio(() => new HeldServer('v1').server, {
      transport: theirs,
      legacy: 'reject',
      onerror: (error) => errors.push(error),
    });
    expect((await peer.request('tools/call', { name: 'quick' })).error.code).toBe(-32_603);
    expect(errors.map(String)).toEqual([
      `TypeError: estop: serveStdio(): a server of ${V1} 1.x speaks the legacy era alone: leave legacy: "reject" out`,
    ]);
    await serving.close();
  });

  test('errors of a v1 server reach the option, and its own listener too', async () => {
    const heard: string[] = [];
    const { server } = new HeldServer('v1');
    server.server.onerror = () => heard.push('own');
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    const peer = new MemoryPeer('legacy', ours);
    const serving = await createEstop().serveStdio(() => server, {
      transport: theirs,
      onerror: () => heard.push('option'),
    });
    await peer.initialize();
    peer.write({ jsonrpc: '2.0', id: 77, result: {} });
    await peer.fence();
    expect(heard).toEqual(['own', 'option']);
    await serving.close();
  });
});

describe('with one installed', () => {
  test.each([
    ['v1', ['made for legacy', 'serving', '']],
    // Not before a client has shown its era.
    ['v2', ['serving', 'made for legacy', '']],
  ] as const)('%s is served', async (major, said) => {
    const peer = start([major], { SDK: SERVER[major] });
    await peer.child.said('serving');
    await peer.initialize();
    expect((await peer.request('tools/call', { name: 'hello' })).result.content[0].text).toBe('hello');
    peer.end();
    expect(await peer.child.exited).toEqual({ code: 0, signal: null });
    expect(peer.child.stderr().split('\n')).toEqual(said);
  });

  test("v1 and legacy: 'reject' is a TypeError, and nothing is made", async () => {
    const peer = start(['v1'], { SDK: SERVER.v1, LEGACY: 'reject' });
    await peer.child.exited;
    expect(peer.child.stderr()).toBe(
      `TypeError: estop: serveStdio(): a server of ${V1} 1.x speaks the legacy era alone: leave legacy: "reject" out\n`,
    );
  });

  test('v1: what the factory throws is thrown', async () => {
    const peer = start(['v1'], { SDK: 'nowhere-to-be-found' });
    await peer.child.exited;
    expect(peer.child.stderr()).toContain("Error: Cannot find package 'nowhere-to-be-found'");
  });
});

test('with none installed it is an error that names both', async () => {
  const peer = start([], { SDK: V2 });
  await peer.child.exited;
  expect(peer.child.stderr()).toBe(
    `Error: estop: serveStdio() needs an SDK of MCP: npm i ${V2} (2.x), or npm i ${V1} (1.x)\n`,
  );
});

/** The subject, where there are these SDKs and no other. */
function start(majors: readonly Major[], env: Record<string, string>): StdioPeer {
  return new StdioPeer('legacy', startWithOnly(majors, 'only-sdk.mjs', env));
}
