/** A tool that runs in a thread or in a process, declared like any other: what the SDK does for it, and what it says when misused. */
import { createEstop, type Estop, type IsolatedOptions, OUTCOME_META } from '@estop/server';
import { McpServer, Server } from '@modelcontextprotocol/server';
import { describe, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { cancelFrame, connectByHand, ERAS, type Frame, type MemoryPeer, serveProtected } from '../support/peer.ts';
import { processEvents } from '../support/process-events.ts';
import { turns } from '../support/waiting.ts';

const module = new URL('../subjects/isolated-tools.mjs', import.meta.url);
const THROWING = new URL('../subjects/throwing-tools.mjs', import.meta.url);
const { KINDS: ERRORS, throwing } = (await import(THROWING.href)) as {
  readonly KINDS: readonly string[];
  throwing(args: unknown): Promise<never>;
};
const KINDS = ['thread', 'process'] as const;
type Kind = (typeof KINDS)[number];
const of = (kind: Kind, name: string): IsolatedOptions => ({ kind, module, export: name });

describe.each(KINDS)('a tool in a %s', (kind) => {
  test('gets the validated arguments, defaults filled in, and its result is the result of the tool', async () => {
    const { peer } = await isolatedServer(kind);
    const { result } = await peer.request('tools/call', { name: 'greet', arguments: { name: 'Ada' } });
    expect(result.content).toEqual([{ type: 'text', text: '{"name":"Ada","greeting":"Hello"}' }]);
    expect(result.structuredContent).toEqual({ length: 3 });
  });

  test('is not called with arguments that do not fit its input schema', async () => {
    const { peer, estop } = await isolatedServer(kind);
    const { result } = await peer.request('tools/call', { name: 'greet', arguments: { name: 7 } });
    expect(result.isError).toBe(true);
    expect(result.content[0].text).toContain('Invalid arguments for tool greet');
    expect(estop.stats().inFlight).toBe(0);
  });

  test('has its output validated', async () => {
    const { peer } = await isolatedServer(kind);
    const { result, error } = await peer.request('tools/call', { name: 'lies', arguments: {} });
    expect(JSON.stringify(result ?? error)).toContain('lies');
    expect(result?.structuredContent).toBeUndefined();
  });

  test('without an input schema gets an empty object for its arguments, and its context as the second', async () => {
    const { peer } = await isolatedServer(kind);
    const { result } = await peer.request('tools/call', { name: 'no-input' });
    expect(JSON.parse(result.content[0].text)).toEqual({ args: {}, aborted: false, remaining: 'Infinity' });
  });

  test('that throws is an error result with its message, as from any handler', async () => {
    const { peer } = await isolatedServer(kind);
    const { result } = await peer.request('tools/call', { name: 'throws' });
    expect(result).toMatchObject({ isError: true, content: [{ type: 'text', text: 'from the other side' }] });
  });

  test('reports progress to the client that asked for it, before its result, and to no other', async () => {
    const { peer } = await isolatedServer(kind);
    await peer.request('tools/call', { name: 'tells', _meta: { progressToken: 'token' } }, 7);
    expect(peer.frames.map(({ method, params }) => (method ? params : 'answer'))).toEqual([
      { progressToken: 'token', progress: 1, total: 2, message: 'half' },
      { progressToken: 'token', progress: 2, total: 2 },
      'answer',
    ]);
    peer.frames.length = 0;
    await peer.request('tools/call', { name: 'tells' });
    expect(peer.frames).toHaveLength(1);
  });

  test('that spins is answered at its deadline, and its end is proven', async () => {
    const { peer, estop } = await isolatedServer(kind, { graceMs: 0, timeoutMs: 400 });
    const { result } = await peer.request('tools/call', { name: 'spins' });
    expect(result).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'tool "spins" reached its deadline of 400 ms' }],
      _meta: { [OUTCOME_META]: { kind: 'deadline', handler: 'running', work: 'unknown' } },
    });
    await none(estop);
    expect(estop.stats()).toMatchObject({ running: 0, abandoned: 0, inFlight: 0 });
  });

  test('that spins is ended by a cancel, in silence', async () => {
    const events = processEvents();
    const { peer, estop } = await isolatedServer(kind, { graceMs: 0 });
    peer.write(peer.callTool(7, 'spins', {}, { progressToken: 7 }));
    await peer.frameThat('it spins', ({ method }) => method === 'notifications/progress');
    peer.write(cancelFrame(7));
    await none(estop);
    await peer.fence();
    expect(peer.about(7)).toHaveLength(1);
    expect(events.unhandled).toEqual([]);
  });

  test('that a cancel in the same write meets is given none', async () => {
    const { peer, estop } = await isolatedServer(kind);
    peer.write(peer.callTool(7, 'spins'), cancelFrame(7));
    await peer.fence();
    expect(peer.about(7)).toEqual([]);
    expect(estop.stats().inFlight).toBe(0);
  });

  test('on a server that is not protected is an error that says what is missing', async () => {
    const peer = await connectByHand(toolsOf(createEstop(), kind));
    const { result } = await peer.request('tools/call', { name: 'greet', arguments: { name: 'Ada' } });
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: 'estop: an isolated tool needs a protected server: estop.protect(server)' }],
    });
  });
});

const WAYS = ERAS.flatMap((era) => KINDS.map((kind) => [era, kind] as const));

describe.each(WAYS)('on the wire of the %s era, what a tool in a %s throws is what a handler throws', (era, kind) => {
  const elsewhere = { kind, module: THROWING, export: 'throwing' } as const;

  test('to a registered tool, whatever the error: its code and data where the SDK sends them, or its message', async () => {
    const { here, there } = await bothWays((estop) => {
      const server = new McpServer({ name: 'throwing', version: '1' });
      const inputSchema = z.object({ what: z.string() });
      server.registerTool('here', { inputSchema }, throwing);
      server.registerTool('there', { inputSchema }, estop.isolated(elsewhere));
      return server;
    });
    expect(there).toEqual(here);
    expect(here['an error']?.result).toMatchObject({ isError: true, content: [{ text: 'plain' }] });
    expect(here['an UrlElicitationRequiredError']?.error.code).toBe(era === 'legacy' ? -32_042 : -32_603);
  });

  test('to a request handler, whatever the error: its code, message and data', async () => {
    const { here, there } = await bothWays((estop) => {
      const server = new Server({ name: 'throwing', version: '1' }, { capabilities: { tools: {} } });
      const isolated = estop.isolated(elsewhere);
      server.setRequestHandler('tools/call', ({ params }, context) =>
        params.name === 'here' ? throwing(params.arguments) : isolated(params.arguments, context),
      );
      return server;
    });
    expect(there).toEqual(here);
    expect(here['an error with a code and data']?.error).toEqual({
      code: -32_050,
      message: 'coded',
      data: { retry: true },
    });
  });

  type Answers = Record<string, Frame>;

  async function bothWays(factory: (estop: Estop) => McpServer | Server): Promise<Record<'here' | 'there', Answers>> {
    const estop = createEstop();
    const { peer } = await serveProtected(era, estop, () => factory(estop));
    const answers = async (name: string): Promise<Answers> => {
      const frames = ERRORS.map(async (what) => {
        const { id: _, ...frame } = await peer.request('tools/call', { name, arguments: { what } });
        return [what, frame] as const;
      });
      return Object.fromEntries(await Promise.all(frames));
    };
    const [here, there] = [await answers('here'), await answers('there')];
    await none(estop);
    return { here, there };
  }
});

describe.each(KINDS)('spares of a %s', (kind) => {
  test('serve the calls of all tools of their module, and go with estop.stop()', async () => {
    const estop = createEstop();
    const server = new McpServer({ name: 'spares', version: '1' });
    server.registerTool('tells', {}, estop.isolated({ ...of(kind, 'tells'), spares: 1 }));
    server.registerTool('throws', {}, estop.isolated({ ...of(kind, 'throws'), spares: 2 }));
    const peer = await connectByHand(estop.protect(server));
    const { result } = await peer.request('tools/call', { name: 'tells' });
    expect(result.content).toEqual([{ type: 'text', text: 'told' }]);
    const thrown = await peer.request('tools/call', { name: 'throws' });
    expect(thrown.result).toMatchObject({ isError: true, content: [{ text: 'from the other side' }] });
    // What is left after the test would fail it.
    await estop.stop();
  });
});

test('a process over its memory limit fails its own call alone, and the server goes on', async () => {
  const estop = createEstop();
  const server = new McpServer({ name: 'memory', version: '1' });
  server.registerTool('hogs', {}, estop.isolated({ ...of('process', 'hogs'), memoryMb: 64 }));
  server.registerTool('tells', {}, estop.isolated({ ...of('process', 'tells'), memoryMb: 64 }));
  const peer = await connectByHand(estop.protect(server));
  const hogs = peer.request('tools/call', { name: 'hogs' });
  const tells = peer.request('tools/call', { name: 'tells' });
  expect((await tells).result.content).toEqual([{ type: 'text', text: 'told' }]);
  const { result } = await hogs;
  expect(result.isError).toBe(true);
  expect(result.content[0].text).toMatch(
    /^estop: the process of tool "hogs" went down over its memory limit of 64 MB \(SIG[A-Z]+\)$/,
  );
  await peer.fence();
  await none(estop);
});

describe('isolated() refuses at once, where it is written,', () => {
  const { isolated } = createEstop();
  const refused = (options: unknown, message: string | RegExp): void => {
    expect(() => isolated(options as IsolatedOptions)).toThrow(TypeError);
    expect(() => isolated(options as IsolatedOptions)).toThrow(message);
  };

  test.each(['./tool.js', '../tool.js', ''])('a module that is relative: %j', (relative) => {
    refused(
      { ...of('thread', 'greet'), module: relative },
      `estop: isolated(): module ${JSON.stringify(relative)} is relative; write new URL(`,
    );
  });

  test('a module that is not there, by URL, by its text or by path', () => {
    const missing = new URL('./no-such-module.mjs', import.meta.url);
    for (const module of [missing, missing.href, missing.pathname]) {
      refused({ ...of('thread', 'greet'), module }, `estop: isolated(): there is no module at ${missing.pathname}`);
    }
  });

  test.each([undefined, null, '', 7])('an export that is no name: %j', (name) => {
    refused(
      { ...of('thread', 'greet'), export: name },
      'estop: isolated(): export must be the name of an exported function',
    );
  });

  test.each([undefined, null, {}, { kind: 'container' }])('a kind that there is not: %j', (options) => {
    refused(options, 'estop: isolated(): kind must be "thread" or "process", got ');
  });

  test('a memory limit for a thread, which cannot have one', () => {
    refused({ ...of('thread', 'greet'), memoryMb: 64 }, 'estop: isolated(): memoryMb is for kind "process"');
  });

  test.each([0, 15, 1.5, Number.NaN, Infinity, '64', null])('a memory limit that is none: %j', (memoryMb) => {
    const options = { ...of('process', 'greet'), memoryMb } as IsolatedOptions;
    expect(() => isolated(options)).toThrow(/^estop: isolated\(\): memoryMb must be /);
  });

  test.each([-1, 1.5, Number.NaN, Infinity, '2', null])('spares that are no number: %j', (spares) => {
    const options = { ...of('thread', 'greet'), spares } as IsolatedOptions;
    expect(() => isolated(options)).toThrow(/^estop: isolated\(\): spares must be /);
  });

  test("and takes a URL, a path, a URL's text and the name of a package", () => {
    for (const good of [module, module.href, module.pathname, 'a-package', '@scope/package/tool', 'node:path']) {
      expect(isolated({ ...of('thread', 'greet'), module: good })).toBeTypeOf('function');
    }
  });
});

interface IsolatedServer {
  readonly estop: Estop;
  readonly peer: MemoryPeer;
}

async function isolatedServer(kind: Kind, options: Parameters<typeof createEstop>[0] = {}): Promise<IsolatedServer> {
  const estop = createEstop(options);
  const peer = await connectByHand(estop.protect(toolsOf(estop, kind)));
  onTestFinished(async () => {
    await peer.hangUp();
    await none(estop);
  });
  return { estop, peer };
}

function toolsOf(estop: Estop, kind: Kind): McpServer {
  const server = new McpServer({ name: 'isolated', version: '1' });
  const name = z.string();
  const greeting = z.string().default('Hello');
  server.registerTool(
    'greet',
    { inputSchema: z.object({ name, greeting }), outputSchema: z.object({ length: z.number() }) },
    estop.isolated(of(kind, 'greet')),
  );
  server.registerTool(
    'lies',
    { inputSchema: z.object({}), outputSchema: z.object({ length: z.number() }) },
    estop.isolated(of(kind, 'lies')),
  );
  server.registerTool('no-input', {}, estop.isolated(of(kind, 'contextIs')));
  server.registerTool('throws', {}, estop.isolated(of(kind, 'throws')));
  server.registerTool('tells', {}, estop.isolated(of(kind, 'tells')));
  server.registerTool('spins', {}, estop.isolated(of(kind, 'spins')));
  return server;
}

/** Resolves when nothing is in flight; the test's own bound ends it otherwise. */
async function none(estop: Estop): Promise<void> {
  while (estop.stats().inFlight > 0) await turns();
}
