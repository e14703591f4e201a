/**
 * A client as small as one can be: posts a frame over a connection that it keeps, and reads the answer.
 *
 * No SDK's: what their clients do for each call (`fetch`, a pipeline of streams, validation) takes longer than what is
 * measured, and would make any protection look cheaper than it is.
 */
import { once } from 'node:events';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Era } from '../../wirings.ts';

const CLIENT = { name: 'bench', version: '1.0.0' };
const REVISIONS = { legacy: '2025-11-25', modern: '2026-07-28' } as const;
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': REVISIONS.modern,
  'io.modelcontextprotocol/clientInfo': CLIENT,
  'io.modelcontextprotocol/clientCapabilities': {},
};

export interface Tool {
  readonly name: string;
  readonly arguments?: unknown;
}

export interface Posted {
  /** Rejects when there is no result, and when none can come any more. */
  readonly answered: Promise<void>;
  /** As the era's clients give up a call. */
  cancel(): Promise<void>;
  hangUp(): void;
}

export class HttpClient {
  readonly #port: number;
  readonly #era: Era;
  // Apart, so that a cancel finds a connection that is open and idle.
  readonly #requests = new Agent({ keepAlive: true });
  readonly #notifications = new Agent({ keepAlive: true });
  #session: Record<string, string> = {};
  #lastId = 0;

  private constructor(port: number, era: Era) {
    this.#port = port;
    this.#era = era;
  }

  static async connect(port: number, era: Era): Promise<HttpClient> {
    const client = new HttpClient(port, era);
    if (era === 'legacy') await client.#initialize();
    return client;
  }

  call(tool: Tool): Posted {
    this.#lastId += 1;
    const id = this.#lastId;
    const posted = this.#request(id, tool);
    const hangUp = (): void => void posted.destroy();
    const cancel = async (): Promise<void> =>
      this.#era === 'modern' ? hangUp() : this.#notify('notifications/cancelled', { requestId: id });
    return { answered: resultOf(posted), cancel, hangUp };
  }

  #request(id: number, tool: Tool): ClientRequest {
    const frame = { id, method: 'tools/call', params: tool };
    if (this.#era === 'legacy') return this.#post(this.#requests, frame, this.#session);
    const params = { ...tool, _meta: ENVELOPE };
    return this.#post(this.#requests, { ...frame, params }, { 'mcp-method': frame.method, 'mcp-name': tool.name });
  }

  async #initialize(): Promise<void> {
    const params = { protocolVersion: REVISIONS.legacy, capabilities: {}, clientInfo: CLIENT };
    const posted = this.#post(this.#requests, { id: 0, method: 'initialize', params });
    posted.once('response', ({ headers: { 'mcp-session-id': id } }) => {
      if (id !== undefined) this.#session = { 'mcp-session-id': String(id) };
    });
    await resultOf(posted);
    await this.#notify('notifications/initialized');
  }

  async #notify(method: string, params = {}): Promise<void> {
    const [status, body] = await answerOf(this.#post(this.#notifications, { method, params }, this.#session));
    if (status !== 202) throw new Error(`the server answered ${method} with ${status}: ${body}`);
  }

  #post(agent: Agent, frame: object, headers: Readonly<Record<string, string>> = {}): ClientRequest {
    const body = JSON.stringify({ jsonrpc: '2.0', ...frame });
    const posted = request({
      agent,
      host: '127.0.0.1',
      port: this.#port,
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'mcp-protocol-version': REVISIONS[this.#era],
        ...headers,
      },
    });
    posted.end(body);
    return posted;
  }
}

async function resultOf(posted: ClientRequest): Promise<void> {
  const [status, body] = await answerOf(posted);
  const frame = status === 200 ? frameIn(body) : undefined;
  if (frame?.result === undefined || frame.result.isError) throw new Error(`the server answered ${status}: ${body}`);
}

async function answerOf(posted: ClientRequest): Promise<[status: number, body: string]> {
  const [response] = (await once(posted, 'response')) as [IncomingMessage];
  return [response.statusCode ?? 0, await text(response)];
}

/** Of a body of JSON, or of the one event of a stream. */
function frameIn(body: string): { readonly result?: { readonly isError?: boolean } } | undefined {
  const json = body.startsWith('{') ? body : /^data: (.*)$/m.exec(body)?.[1];
  return json === undefined ? undefined : JSON.parse(json);
}
