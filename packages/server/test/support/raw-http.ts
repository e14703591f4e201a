/** A client over HTTP, frame by frame: no SDK in between that could smooth anything over. */
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { onTestFinished } from 'vitest';
import type { Era, Frame } from './peer.ts';
import { latch, soon } from './waiting.ts';

const MODERN = '2026-07-28';
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
};
const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: { elicitation: {} },
  clientInfo: { name: 'raw', version: '1' },
};

/** One exchange, as far as it has come. */
export class RawExchange {
  readonly frames: Frame[] = [];
  /** The whole body, as it came. */
  body = '';
  eventIds: string[] = [];
  status: number | undefined;
  headers: IncomingMessage['headers'] = {};
  readonly #began = latch();
  readonly #over = latch<'ended' | 'broken'>();
  #heard = latch();
  readonly #hangUp: () => void;

  constructor(method: string, url: string, headers: Record<string, string>, body: string | undefined, agent: Agent) {
    const sent = request(url, { method, headers, agent });
    this.#hangUp = () => sent.destroy();
    sent.on('error', () => this.#end('broken'));
    sent.on('response', (response) => this.#read(response));
    sent.end(body);
  }

  get began(): Promise<void> {
    return soon(this.#began.promise, 'an answer begins');
  }

  /** `ended`: by the server, as it should be. */
  get over(): Promise<'ended' | 'broken'> {
    return soon(this.#over.promise, 'the exchange is over');
  }

  hangUp(): void {
    this.#hangUp();
  }

  async frameThat(what: string, matches: (frame: Frame) => boolean): Promise<Frame> {
    for (;;) {
      const found = this.frames.find(matches);
      if (found !== undefined) return found;
      await soon(Promise.race([this.#heard.promise, this.#over.promise.then(() => this.#lacks(what, matches))]), what);
    }
  }

  answer(id: string | number): Promise<Frame> {
    const isAnswer = (frame: Frame): boolean => frame.method === undefined && frame.id === id;
    return this.frameThat(`the answer to ${JSON.stringify(id)}`, isAnswer);
  }

  #lacks(what: string, matches: (frame: Frame) => boolean): void {
    if (!this.frames.some(matches)) throw new Error(`over without ${what}: ${this.status} ${this.body}`);
  }

  #read(response: IncomingMessage): void {
    this.status = response.statusCode;
    this.headers = response.headers;
    const isStream = response.headers['content-type']?.startsWith('text/event-stream') === true;
    let rest = '';
    response.setEncoding('utf8').on('data', (text: string) => {
      this.body += text;
      if (!isStream) return;
      const events = (rest + text).split('\n\n');
      rest = events.pop() ?? '';
      for (const event of events) this.#event(event);
    });
    response.on('error', () => this.#end('broken'));
    response.on('close', () => {
      if (!isStream && this.body !== '' && response.complete) this.#heardOf(JSON.parse(this.body));
      this.#end(response.complete ? 'ended' : 'broken');
    });
    this.#began.open();
  }

  #event(text: string): void {
    for (const line of text.split('\n')) {
      if (line.startsWith('id: ')) this.eventIds.push(line.slice(4));
      else if (line.startsWith('data: ') && line.length > 6) this.#heardOf(JSON.parse(line.slice(6)));
    }
  }

  #heardOf(message: Frame | Frame[]): void {
    this.frames.push(...(Array.isArray(message) ? message : [message]));
    this.#heard.open();
    this.#heard = latch();
  }

  #end(how: 'ended' | 'broken'): void {
    this.#began.open();
    this.#over.open(how);
  }
}

export class RawClient {
  readonly era: Era;
  readonly url: string;
  readonly agent = new Agent({ keepAlive: true });
  sessionId: string | undefined;
  readonly #headers: Record<string, string>;

  constructor(url: string, era: Era, headers: Record<string, string> = {}) {
    this.url = url;
    this.era = era;
    this.#headers = headers;
    onTestFinished(() => this.agent.destroy());
  }

  async initialize(): Promise<this> {
    if (this.era === 'modern') return this;
    const exchange = this.post(this.frame('initialize', 'initialize', INITIALIZE));
    await exchange.answer('initialize');
    await exchange.over;
    this.sessionId = exchange.headers['mcp-session-id'] as string | undefined;
    await this.post({ jsonrpc: '2.0', method: 'notifications/initialized' }).over;
    return this;
  }

  frame(id: string | number, method: string, params: object = {}): Frame {
    if (this.era === 'legacy') return { jsonrpc: '2.0', id, method, params };
    const { _meta } = params as { _meta?: object };
    return { jsonrpc: '2.0', id, method, params: { ...params, _meta: { ...ENVELOPE, ..._meta } } };
  }

  callTool(id: string | number, name: string, meta?: object): Frame {
    return this.frame(id, 'tools/call', { name, arguments: {}, ...(meta && { _meta: meta }) });
  }

  call(id: string | number, name: string, meta?: object): RawExchange {
    return this.post(this.callTool(id, name, meta));
  }

  /** Resolves when the server has taken it. */
  async cancel(requestId: unknown): Promise<number | undefined> {
    const exchange = this.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
    await exchange.over;
    return exchange.status;
  }

  post(message: Frame | readonly Frame[], headers: Record<string, string> = {}): RawExchange {
    const standard = this.era === 'modern' && !Array.isArray(message) ? standardHeaders(message as Frame) : {};
    return this.#exchange(
      'POST',
      { 'content-type': 'application/json', ...standard, ...headers },
      JSON.stringify(message),
    );
  }

  /** @param after the event after which the stream goes on */
  resume(after: string): RawExchange {
    return this.#exchange('GET', { 'last-event-id': after }, undefined);
  }

  get(): RawExchange {
    return this.#exchange('GET', {}, undefined);
  }

  delete(headers: Record<string, string> = {}): RawExchange {
    return this.#exchange('DELETE', headers, undefined);
  }

  #exchange(method: string, headers: Record<string, string>, body: string | undefined): RawExchange {
    const all = {
      accept: 'application/json, text/event-stream',
      ...(this.sessionId !== undefined && { 'mcp-session-id': this.sessionId }),
      'mcp-protocol-version': this.era === 'modern' ? MODERN : '2025-11-25',
      ...this.#headers,
      ...headers,
    };
    return new RawExchange(method, this.url, all, body, this.agent);
  }
}

function standardHeaders({ method = '', params }: Frame): Record<string, string> {
  return { 'mcp-method': method, ...(params?.name !== undefined && { 'mcp-name': params.name }) };
}

/** Resolves when the server has no connection left. */
export async function noSockets(server: import('node:net').Server): Promise<void> {
  const count = (): Promise<number> =>
    new Promise((resolve, reject) => server.getConnections((error, n) => (error ? reject(error) : resolve(n))));
  const wait = async (): Promise<void> => {
    while ((await count()) > 0) await Promise.race([once(server, 'connection'), new Promise(setImmediate)]);
  };
  await soon(wait(), 'the server has no connection left');
}
