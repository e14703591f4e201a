/** The recording proxy, between bare sockets and servers that do what they like. */
import { createServer as createHttpServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createNetServer, type Server, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { AttemptEvent } from '../src/probe/events.ts';
import type { Log } from '../src/probe/log.ts';
import { createCapture, newTestId } from '../src/probe/subject/capture.ts';
import { startProxy } from '../src/probe/subject/http/proxy.ts';
import { seen, send, tempLog } from './probe-fixture.ts';

type Answer = (req: IncomingMessage, res: ServerResponse, body: string) => void;

const EVENTS = { 'content-type': 'text/event-stream' };
const JSON_TYPE = { 'content-type': 'application/json' };
const RESULT = { jsonrpc: '2.0', id: 3, result: { text: 'ä€😀' } };

/** The proxy before a server that answers like that, and one attempt that the capture expects. */
async function start(answer: Answer) {
  const server = createHttpServer((req, res) => {
    res.on('error', () => {});
    buffer(req).then(
      (body) => answer(req, res, String(body)),
      () => {},
    );
  });
  return before(server);
}

async function before(server: Server) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.on('error', () => {}));
    socket.once('close', () => sockets.delete(socket));
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const shut = () => {
    for (const socket of sockets) socket.destroy();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  };
  onTestFinished(shut);
  const log = tempLog();
  const capture = createCapture(log);
  const testId = newTestId();
  capture.expect(testId);
  const garbage: string[] = [];
  const ears = { capture, onAnswer: () => {}, onGarbage: (text: string) => void garbage.push(text) };
  const proxy = await startProxy(new URL(`${origin}/mcp?a=1`), ears);
  onTestFinished(() => proxy.close());
  const call = (id: unknown = 3) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { testId } });
  return { origin, shut, log, testId, garbage, proxy, call, url: proxy.url.href };
}

interface Asking {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One request, and the begin of its answer, of which nothing is read yet. */
function begin(url: string, body?: unknown, { method = 'POST', headers = {} }: Asking = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, resolve).on('error', reject);
    sent.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body));
  });
}

/** One request, and all of its answer. Rejects when the answer does not come to its end. */
async function ask(url: string, body?: unknown, asking?: Asking) {
  const answer = await begin(url, body, asking);
  return { status: answer.statusCode, headers: answer.headers, body: await buffer(answer) };
}

const frames = (log: Log, testId: string) =>
  log.of(testId).map(({ seq: _, at: __, source: ___, testId: ____, ...e }) => e);

const CALL = { event: 'wire', direction: 'to-server', kind: 'request', method: 'tools/call', wireId: 3 };
const ANSWERED = { event: 'post_answered', status: 200, wireId: 3 };
const RESPONSE = { event: 'wire', direction: 'to-client', kind: 'response', wireId: 3, isError: false };

describe('what passes', () => {
  it('an answer in JSON: its bytes, its status and its headers are the same, and each frame is logged before it goes on', async () => {
    let atServer: readonly object[] = [];
    const { log, testId, call, url } = await start((_, res) => {
      atServer = frames(log, testId);
      res.writeHead(200, 'Fine', { ...JSON_TYPE, 'mcp-session-id': 's-1', 'X-Spelled': 'So' });
      res.end(JSON.stringify(RESULT));
    });
    const { status, headers, body } = await ask(url, call());
    const atClient = frames(log, testId);
    expect(status).toBe(200);
    expect(headers).toMatchObject({ ...JSON_TYPE, 'mcp-session-id': 's-1', 'x-spelled': 'So' });
    expect(JSON.parse(String(body))).toEqual(RESULT);
    expect(atServer).toEqual([CALL]);
    expect(atClient).toEqual([CALL, ANSWERED, RESPONSE]);
  });

  it('a stream, as it comes: an event is there before the next one is sent', async () => {
    let more = (): void => {};
    const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 9, progress: 1 } };
    const { log, testId, call, url } = await start((_, res) => {
      res.writeHead(200, EVENTS).write(`data: ${JSON.stringify(progress)}\n\n`);
      more = () => void res.end(`data: ${JSON.stringify(RESULT)}\n\n`);
    });
    const withToken = { ...call(), params: { testId, _meta: { progressToken: 9 } } };
    const { answer, closed, received } = send(url, { body: JSON.stringify(withToken) });
    await answer(/"progress":1/);
    const first = frames(log, testId);
    more();
    await closed;
    expect(received()).toContain(JSON.stringify(RESULT));
    const PROGRESS = { method: 'notifications/progress', progressToken: 9, direction: 'to-client' };
    expect(first).toMatchObject([CALL, ANSWERED, PROGRESS]);
    expect(frames(log, testId)).toMatchObject([CALL, ANSWERED, PROGRESS, RESPONSE]);
  });

  it('a stream that comes byte by byte, in the middle of characters and of events', async () => {
    const text = `: hello\r\n\r\nid: 1\r\ndata: ${JSON.stringify(RESULT)}\r\n\r\n`;
    const { log, testId, call, url } = await start(async (_, res) => {
      res.writeHead(200, EVENTS);
      for (const byte of Buffer.from(text)) await new Promise<void>((next) => res.write(Buffer.of(byte), () => next()));
      res.end();
    });
    expect(String((await ask(url, call())).body)).toBe(text);
    expect(frames(log, testId)).toEqual([CALL, ANSWERED, RESPONSE]);
  });

  it('batches, either way', async () => {
    const { log, testId, call, url } = await start((_, res) => {
      res.writeHead(200, JSON_TYPE).end(JSON.stringify([RESULT, { ...RESULT, id: 4 }]));
    });
    await ask(url, [call(3), call(4), { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 3 } }]);
    expect(frames(log, testId)).toEqual([
      CALL,
      { ...CALL, wireId: 4 },
      { event: 'wire', direction: 'to-server', kind: 'notification', method: 'notifications/cancelled', cancels: 3 },
      ANSWERED,
      { ...ANSWERED, wireId: 4 },
      { event: 'post_answered', status: 200, cancels: 3 },
      RESPONSE,
      { ...RESPONSE, wireId: 4 },
    ]);
  });

  it('the stream of a GET, a resumed one too, whose frames belong to calls of before', async () => {
    const { log, testId, call, url } = await start((req, res) => {
      if (req.method === 'POST') return void res.writeHead(200, EVENTS).end('id: 1\ndata:\n\n');
      res.writeHead(200, EVENTS).end(`id: ${req.headers['last-event-id']}0\ndata: ${JSON.stringify(RESULT)}\n\n`);
    });
    await ask(url, call());
    const { body } = await ask(url, undefined, { method: 'GET', headers: { 'last-event-id': '1' } });
    expect(String(body)).toMatch(/^id: 10\n/);
    expect(frames(log, testId)).toEqual([CALL, ANSWERED, RESPONSE]);
  });

  it.each([202, 204, 400, 404, 405, 500])('status %i, with what stands in it', async (status) => {
    const { log, testId, garbage, url } = await start((_, res) => {
      res
        .writeHead(status, { allow: 'POST', 'content-type': 'text/plain' })
        .end(status === 204 ? undefined : 'so it is');
    });
    await ask(url, { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { testId } });
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 3 } };
    const answer = await ask(url, cancel, { headers: { 'mcp-session-id': 's-1' } });
    expect(answer).toMatchObject({ status, headers: { allow: 'POST' } });
    expect(String(answer.body)).toBe(status === 204 ? '' : 'so it is');
    expect(frames(log, testId).at(-1)).toEqual({ event: 'post_answered', status, cancels: 3 });
    expect(garbage).toEqual([]);
  });

  it('the path, the query, the method and the headers; of the host that the server has, and without compression', async () => {
    const { origin, url } = await start(({ method, url: path, headers }, res) => {
      res.writeHead(200, JSON_TYPE).end(JSON.stringify({ method, path, headers }));
    });
    expect(new URL(url)).toMatchObject({ pathname: '/mcp', search: '?a=1' });
    const own = { 'mcp-session-id': 's-1', 'accept-encoding': 'gzip', connection: 'keep-alive' };
    const { body, headers } = await ask(url, undefined, { method: 'DELETE', headers: own });
    const came = JSON.parse(String(body));
    expect(came).toMatchObject({ method: 'DELETE', path: '/mcp?a=1', headers: { 'mcp-session-id': 's-1' } });
    expect(came.headers).toMatchObject({ host: origin.slice('http://'.length), connection: 'close' });
    expect(came.headers).not.toHaveProperty('accept-encoding');
    expect(headers.connection).toBe('close');
  });

  it('a redirect of the server to itself leads to the proxy again, and another one where it leads', async () => {
    const { origin, url, proxy } = await start((req, res) => {
      res.writeHead(307, { location: req.url === '/away' ? `${origin}1/mcp/` : `${origin}/mcp/` }).end();
    });
    expect((await ask(url)).headers.location).toBe(`${proxy.url.origin}/mcp/`);
    expect((await ask(new URL('/away', url).href)).headers.location).toBe(`${origin}1/mcp/`);
  });

  it('what is longer than a frame may be goes on unread', async () => {
    const big = `"${'x'.repeat(11 * 1024 * 1024)}"`;
    const { call, url, log, testId } = await start((_, res, body) => res.writeHead(200, JSON_TYPE).end(body));
    expect((await ask(url, `{"a":${big}}`)).body.length).toBe(big.length + 6);
    await ask(url, { ...call(), more: big });
    expect(log.of(testId)).toEqual([]);
  });
});

describe('who hangs up', () => {
  const closed = (by: 'client' | 'server') => ({ event: 'stream_closed', by, wireId: 3 });

  it.each([
    ['before the answer', false],
    ['in the middle of it', true],
  ])('the client, %s: the server sees it at once, and it is logged', async (_, begun) => {
    let gone = (): void => {};
    const hungUpOn = new Promise<void>((resolve) => {
      gone = resolve;
    });
    let came = (): void => {};
    const reached = new Promise<void>((resolve) => {
      came = resolve;
    });
    const { log, testId, call, url } = await start((__, res) => {
      if (begun) res.writeHead(200, EVENTS).write(': begun\n\n');
      res.once('close', gone);
      came();
    });
    const { socket, answer } = send(url, { body: JSON.stringify(call()) });
    await reached;
    if (begun) await answer(/begun/);
    socket.destroy();
    await hungUpOn;
    await seen(log, testId, 'stream_closed');
    expect(frames(log, testId).at(-1)).toEqual(closed('client'));
  });

  it.each([
    ['before the answer', false],
    ['in the middle of it', true],
  ])('the server, %s: the client sees it at once, and it is logged', async (_, begun) => {
    const { log, testId, call, url } = await start((__, res) => {
      if (begun) res.writeHead(200, EVENTS).write(': begun\n\n', () => res.destroy());
      else res.destroy();
    });
    await expect(ask(url, call())).rejects.toThrow();
    expect(frames(log, testId).at(-1)).toEqual(closed('server'));
  });

  it('nobody, when a stream ends: that leaves no line', async () => {
    const { log, testId, call, url } = await start((_, res) => {
      res.writeHead(200, EVENTS).end(`data: ${JSON.stringify(RESULT)}\n\n`);
    });
    await ask(url, call());
    await ask(url, call());
    expect(log.of(testId).map(({ event }) => event)).not.toContain('stream_closed');
  });

  it('a client that closes one exchange closes no other', async () => {
    const open = new Map<string, ServerResponse>();
    const { log, testId, call, url } = await start((_, res, body) => {
      open.set(JSON.parse(body).id, res);
      res.writeHead(200, EVENTS).write(`: ${open.size}\n\n`);
    });
    const one = send(url, { body: JSON.stringify(call('one')) });
    await one.answer(/: 1/);
    const two = send(url, { body: JSON.stringify(call('two')) });
    await two.answer(/: 2/);
    one.socket.destroy();
    await seen(log, testId, 'stream_closed');
    open.get('two')?.end('data: {"id":"two"}\n\n');
    await two.answer(/"two"/);
    const lines = log.of(testId).filter((line) => line.event === ('stream_closed' as AttemptEvent['event']));
    expect(lines).toMatchObject([{ by: 'client', wireId: 'one' }]);
  });

  it('not the client, when the proxy is closed', async () => {
    const { log, testId, call, url, proxy } = await start((_, res) => res.writeHead(200, EVENTS).write(': begun\n\n'));
    const { answer, closed: ended } = send(url, { body: JSON.stringify(call()) });
    await answer(/begun/);
    await proxy.close();
    await ended;
    expect(frames(log, testId)).toEqual([CALL, ANSWERED]);
  });
});

describe('garbage', () => {
  it.each([
    ['is no HTTP', 'what?\r\n\r\n'],
    ['has no end', 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{}'],
    ['has a header without end', `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(100_000)}`],
    ['switches protocols', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
    ['says nothing', ''],
  ])('from a server that %s: the client is hung up on, and the next one is served', async (_, text) => {
    const server = createNetServer((socket) => {
      socket.once('data', () => socket.end(text));
      socket.on('error', () => {});
    });
    const { log, testId, call, url } = await before(server);
    for (const id of [3, 4]) {
      await expect(ask(url, call(id))).rejects.toThrow();
      expect(log.of(testId).at(-1)).toMatchObject({ event: 'stream_closed', by: 'server', wireId: id });
    }
  });

  it.each([
    ['JSON', JSON_TYPE, '{"half":', '{"half":'],
    ['an event', EVENTS, 'data: {"half":\n\n', '{"half":'],
    ['a number', JSON_TYPE, '7', '7'],
  ])('in the place of a frame, in %s: is told, and passes as it is', async (_, type, text, told) => {
    const { garbage, call, url } = await start((__, res) => res.writeHead(200, type).end(text));
    expect(String((await ask(url, call())).body)).toBe(text);
    expect(garbage).toEqual([told]);
  });

  it('from a client: it is hung up on or served, and the next one is served', async () => {
    const { call, url, log, testId } = await start((_, res) => res.writeHead(202).end());
    const { socket, closed } = send(url, { method: 'NO\0HTTP' });
    socket.resume();
    await closed;
    expect((await ask(url, '{"half":')).status).toBe(202);
    expect((await ask(url, call())).status).toBe(202);
    expect(frames(log, testId)).toEqual([CALL, { ...ANSWERED, status: 202 }]);
  });
});

it('a server that refuses connections hangs up', async () => {
  const { shut, log, testId, call, url } = await start(() => {});
  await shut();
  await expect(ask(url, call())).rejects.toThrow(/hang up|ECONNRESET/);
  expect(frames(log, testId)).toEqual([CALL, { event: 'stream_closed', by: 'server', wireId: 3 }]);
});

it('a receiver that is slow holds the stream back, and gets all of it', async () => {
  const [size, count] = [64 * 1024, 512];
  let [written, done] = [0, false];
  const { call, url } = await start(async (_, res) => {
    res.writeHead(200, EVENTS);
    for (; written < count; written++) {
      if (!res.write(Buffer.alloc(size, ':'))) await new Promise<void>((next) => res.once('drain', next));
    }
    done = true;
    res.end();
  });
  const answer = await begin(url, call());
  // It stands still when it has written the same for a while; were the proxy to take all of it, it would come to its end.
  for (let before = -1; before !== written; ) {
    before = written;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  expect(done).toBe(false);
  expect((await buffer(answer)).length).toBe(size * count);
  expect(done).toBe(true);
});
