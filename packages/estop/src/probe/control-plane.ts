/**
 * The control plane: where a subject's handler waits at gates and says what it does. HTTP, for any language.
 *
 * A subject finds it by `ESTOP_CONTROL_URL` and `ESTOP_CONTROL_TOKEN` (`Authorization: Bearer`):
 *
 *     POST /tests/{testId}/line           {"invocation"}            held open: its end is the handler's end
 *     GET  /tests/{testId}/gates/{gate}                             204 when the gate is open
 *     POST /tests/{testId}/events         {"invocation","event"}    204
 *
 * A handler has started when its line arrives, or an event that overtook the line. A handler whose line closes before
 * it posted `handler_exited` is `handler_gone`: a thread or a process that was ended says nothing, but its sockets
 * close. Does not know what a handler does beyond what it tells.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Checkpoint, Gate } from './cases/table.ts';
import type { AttemptEvent } from './events.ts';
import type { Log } from './log.ts';

type HandlerGate = Exclude<Gate, 'allow_commit'>;

export interface ControlPlane {
  /** Without a slash at the end. */
  readonly url: string;
  readonly token: string;
  /** What the subject's environment needs. */
  readonly env: Readonly<Record<'ESTOP_CONTROL_URL' | 'ESTOP_CONTROL_TOKEN', string>>;
  /** Makes a test id known; others are answered 404. */
  expect(testId: string): void;
  /** Opens a gate, for good: whoever comes later finds it open. */
  open(testId: string, gate: HandlerGate): void;
  /** Ends every held request and socket. What closes from then on is no fact about a handler. */
  close(): Promise<void>;
}

const HANDLER_GATES: readonly string[] = ['before_work', 'release_response'] satisfies HandlerGate[];
const CHECKPOINTS: readonly string[] = ['before_work', 'waiting_on_work', 'release_response'] satisfies Checkpoint[];
const MAX_BODY_BYTES = 64 * 1024;
const MAX_REASON = 200;
const MAX_INVOCATION = 100;

interface Test {
  readonly id: string;
  readonly started: Set<string>;
  readonly exited: Set<string>;
  readonly open: Set<HandlerGate>;
  readonly waiting: Map<HandlerGate, Set<ServerResponse>>;
}

export async function startControlPlane(log: Log): Promise<ControlPlane> {
  const token = randomBytes(24).toString('hex');
  const tests = new Map<string, Test>();
  let closing = false;

  // No timeout of the server's may end a held line: that would read as the handler's end.
  const server = createServer({ requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0 }, (req, res) => {
    route(req, res).catch((error: unknown) => {
      if (res.headersSent || res.destroyed) return;
      const { status, message } = error instanceof Refusal ? error : new Refusal(500, 'the control plane failed');
      res.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end(`${message}\n`);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function route(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (req.headers.authorization !== `Bearer ${token}`) throw new Refusal(401, 'the token is missing or wrong');
    const [, root, testId = '', what, gate = ''] = (req.url ?? '').split('?')[0]?.split('/') ?? [];
    const test = root === 'tests' ? tests.get(testId) : undefined;
    if (!test) throw new Refusal(404, 'no such test');
    if (req.method === 'POST' && what === 'line') return holdLine(test, await readBody(req), res);
    if (req.method === 'POST' && what === 'events') return takeEvent(test, await readBody(req), res);
    if (req.method === 'GET' && what === 'gates' && isHandlerGate(gate)) return waitAtGate(test, gate, res);
    throw new Refusal(404, 'no such resource');
  }

  function holdLine(test: Test, body: Body, res: ServerResponse): void {
    const invocation = invocationOf(body);
    start(test, invocation);
    const ended = (): void => {
      if (closing || test.exited.has(invocation)) return;
      log.write('handler', { testId: test.id, event: 'handler_gone', invocation });
    };
    if (res.closed) ended();
    else res.once('close', ended);
  }

  function waitAtGate(test: Test, gate: HandlerGate, res: ServerResponse): void {
    if (test.open.has(gate)) return void res.writeHead(204).end();
    const waiting = test.waiting.get(gate) ?? new Set();
    test.waiting.set(gate, waiting.add(res));
    res.once('close', () => waiting.delete(res));
  }

  function takeEvent(test: Test, body: Body, res: ServerResponse): void {
    const event = handlerEvent(body);
    start(test, event.invocation);
    if (event.event === 'handler_exited') test.exited.add(event.invocation);
    log.write('handler', { testId: test.id, ...event });
    res.writeHead(204).end();
  }

  function start(test: Test, invocation: string): void {
    if (test.started.has(invocation)) return;
    test.started.add(invocation);
    log.write('handler', { testId: test.id, event: 'handler_started', invocation });
  }

  return {
    url,
    token,
    env: { ESTOP_CONTROL_URL: url, ESTOP_CONTROL_TOKEN: token },

    expect(testId) {
      if (tests.has(testId)) return;
      tests.set(testId, { id: testId, started: new Set(), exited: new Set(), open: new Set(), waiting: new Map() });
    },

    open(testId, gate) {
      const test = tests.get(testId);
      if (!test) throw new Error(`estop: the control plane does not expect ${testId}`);
      if (test.open.has(gate)) return;
      test.open.add(gate);
      log.write('harness', { testId, event: 'gate_opened', gate });
      for (const res of test.waiting.get(gate) ?? []) res.writeHead(204).end();
    },

    close() {
      closing = true;
      return new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

/** An answer that says what is wrong, in one sentence. */
class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

type Body = Readonly<Record<string, unknown>>;

async function readBody(req: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = [];
  let size = 0;
  // A plain listener, not `for await`: leaving that early destroys the socket that the refusal has to go out on.
  await new Promise<void>((resolve, reject) => {
    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= MAX_BODY_BYTES) chunks.push(chunk);
      else reject(new Refusal(413, `the body is larger than ${MAX_BODY_BYTES} bytes`));
    });
    req.once('end', resolve);
    req.once('error', reject);
  });
  let body: unknown;
  try {
    body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw new Refusal(400, 'the body is not JSON');
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new Refusal(400, 'the body is not a JSON object');
  }
  return body as Body;
}

type HandlerEvent = Extract<
  AttemptEvent,
  { event: 'handler_signal' | 'handler_acted' | 'handler_got_result' | 'handler_exited' }
>;

function handlerEvent(body: Body): HandlerEvent {
  const invocation = invocationOf(body);
  const { event, checkpoint, how, reason } = body;
  switch (event) {
    case 'handler_signal':
      return typeof reason === 'string'
        ? { event, invocation, reason: clean(reason).slice(0, MAX_REASON) }
        : { event, invocation };
    case 'handler_acted':
      if (!isCheckpoint(checkpoint)) throw new Refusal(400, `checkpoint must be one of ${CHECKPOINTS.join(', ')}`);
      return { event, invocation, checkpoint };
    case 'handler_got_result':
      return { event, invocation };
    case 'handler_exited':
      if (how !== 'returned' && how !== 'threw') throw new Refusal(400, 'how must be one of returned, threw');
      return { event, invocation, how };
    default:
      throw new Refusal(400, 'event must be one of handler_signal, handler_acted, handler_got_result, handler_exited');
  }
}

function invocationOf({ invocation }: Body): string {
  const cleaned = typeof invocation === 'string' ? clean(invocation) : '';
  if (cleaned === '' || cleaned !== invocation || cleaned.length > MAX_INVOCATION) {
    throw new Refusal(400, `invocation must be a printable string of 1 to ${MAX_INVOCATION} characters`);
  }
  return cleaned;
}

/** Without control and format characters (C0, C1, bidi, zero-width): what is logged is shown in terminals. */
function clean(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, '');
}

function isHandlerGate(name: string): name is HandlerGate {
  return HANDLER_GATES.includes(name);
}

function isCheckpoint(value: unknown): value is Checkpoint {
  return typeof value === 'string' && CHECKPOINTS.includes(value);
}
