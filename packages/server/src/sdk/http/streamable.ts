/**
 * What estop does at a Streamable HTTP transport of either SDK: it sees each exchange before the transport does, and ends
 * those of cancelled calls, for which the SDK keeps a socket and an entry in its maps for good.
 *
 * By public means only: `handleRequest`, `closeSSEStream` and `send`. Changes nothing for calls that end normally, except
 * that an id which is in flight in its session is refused: the SDK would give the one's answer to the other.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Alarms, Call } from '../../core/index.ts';
import type { Frame, TransportShape } from '../shapes.ts';
import { type Answer, NodeAnswer, WebAnswer } from './answer.ts';
import { type Callers, mintSession, SESSION_HEADER } from './callers.ts';
import { idsIn, readAhead } from './duplicates.ts';
import type { Exchange } from './exchange.ts';
import type { Exchanges, MessageExtra } from './exchanges.ts';
import { Post } from './post.ts';
import { Resumed } from './resumed.ts';

export interface StreamableShape extends TransportShape {
  readonly sessionId?: string | undefined;
  handleRequest(...args: unknown[]): Promise<unknown>;
  closeSSEStream(id: unknown): void;
  /** Only in v2. */
  setSupportedProtocolVersions?: unknown;
}

export interface HttpContext {
  readonly exchanges: Exchanges;
  readonly callers: Callers;
  readonly alarms: Alarms;
}

const HUSHED_IDS = 1_000;

export class Streamable {
  readonly #transport: StreamableShape;
  readonly #context: HttpContext;
  readonly #send: TransportShape['send'];
  // Invariant: the POSTs that have a request which is neither answered nor silent, or are about to be ended.
  readonly #posts = new Map<Exchange, Post>();
  // By id; one that is in flight is refused, so there is one POST for each.
  readonly #byId = new Map<unknown, Post>();
  // Where there is an event store.
  #resumed: Resumed | undefined;
  // Ids of calls that stay silent, the last ones: what they left behind may still write.
  #hushed: Set<unknown> | undefined;
  // The session's scope for the caller that opened it, and for nobody else.
  #openedBy: string | undefined;

  static over(transport: TransportShape, context: HttpContext): Streamable | undefined {
    const { handleRequest, closeSSEStream } = transport as Partial<StreamableShape>;
    if (typeof handleRequest !== 'function' || typeof closeSSEStream !== 'function') return undefined;
    return new Streamable(transport as StreamableShape, context);
  }

  private constructor(transport: StreamableShape, context: HttpContext) {
    this.#transport = transport;
    this.#context = context;
    this.#send = transport.send.bind(transport);
    const handle = transport.handleRequest.bind(transport);
    transport.handleRequest = (...args) =>
      isWeb(args[0]) ? this.#web(handle, args[0], args[1]) : this.#node(handle, args);
  }

  get sessionId(): string | undefined {
    return this.#transport.sessionId;
  }

  /** A message that came in an exchange, before the SDK has it. */
  read(message: Frame, exchange: Exchange, extra: MessageExtra): void {
    if (message.id === undefined || message.method === undefined) return;
    const post = this.#posts.get(exchange);
    if (post === undefined) return;
    if (extra.closeSSEStream !== undefined && !post.isResumable) {
      post.isResumable = true;
      this.#resumed ??= new Resumed();
      this.#resumed.watch(post);
    }
    post.asks(message.id);
    this.#byId.set(message.id, post);
    this.#hushed?.delete(message.id);
    if (message.method === 'initialize') this.#initialize(post, extra);
  }

  began(call: Call, exchange: Exchange): void {
    const { alarms, callers } = this.#context;
    this.#posts.get(exchange)?.began(call, alarms, callers.disconnectGraceMs);
  }

  /** Whether a call with this id is neither answered nor silent. */
  isCall(id: unknown): boolean {
    return this.#byId.get(id)?.isCall(id) === true;
  }

  /** The SDK writes this answer, or its wire refuses it. */
  answered(answer: Frame): void {
    const post = this.#byId.get(answer.id);
    if (post === undefined) return;
    post.answered(answer);
    this.#settle(post);
  }

  /** Nothing will be written for this id: its exchange ends when all else in it was answered. */
  hush(id: unknown): void {
    const post = this.#byId.get(id);
    if (post === undefined) return;
    post.hushed(id);
    this.#hushed ??= new Set();
    this.#hushed.add(id);
    if (this.#hushed.size > HUSHED_IDS) this.#hushed.delete(this.#hushed.values().next().value);
    this.#settle(post);
  }

  isHushed(id: unknown): boolean {
    return this.#hushed?.has(id) === true;
  }

  /** The transport is closed. In JSON mode the SDK leaves the clients waiting; then they are told. */
  closed(): void {
    for (const post of this.#posts.values()) {
      post.close();
      post.answer.replace({ status: 404, json: NO_SESSION });
    }
    this.#posts.clear();
    this.#byId.clear();
  }

  async #node(handle: StreamableShape['handleRequest'], args: unknown[]): Promise<unknown> {
    const [request, response, given] = args as [IncomingMessage, ServerResponse, unknown];
    const exchange = this.#context.exchanges.ofNode(request, response);
    const answer = new NodeAnswer(response);
    const isParsed = given !== undefined && typeof given !== 'function';
    const body = isParsed ? given : this.#mayCollide(exchange) ? await readAhead(request) : undefined;
    if (this.#isRefused(exchange, answer, body, (request as { auth?: unknown }).auth)) return undefined;
    return answer.over(handle(request, response, body === undefined ? given : body));
  }

  #web(handle: StreamableShape['handleRequest'], given: Request, options: unknown): Promise<Response> {
    const { exchanges } = this.#context;
    // v2 hands on the request itself.
    if (this.#isV2) return this.#webOf(handle, exchanges.ofSameWeb(given), given, options);
    const { exchange, request, forget } = exchanges.ofWeb(given);
    return this.#webOf(handle, exchange, request, options).finally(forget);
  }

  async #webOf(
    handle: StreamableShape['handleRequest'],
    exchange: Exchange,
    request: Request,
    options: unknown,
  ): Promise<Response> {
    const { parsedBody, authInfo } = (options ?? {}) as { parsedBody?: unknown; authInfo?: unknown };
    const answer = new WebAnswer();
    const body = parsedBody ?? (this.#mayCollide(exchange) ? await readAhead(request.clone()) : undefined);
    const isRefused = this.#isRefused(exchange, answer, body, authInfo);
    return answer.instead(isRefused ? undefined : (handle(request, options) as Promise<Response>));
  }

  get #isV2(): boolean {
    return this.#transport.setSupportedProtocolVersions !== undefined;
  }

  /** Whether another POST is open in this session: only then the body has to be read ahead. */
  #mayCollide(exchange: Exchange): boolean {
    return exchange.method === 'POST' && this.sessionId !== undefined && this.#posts.size > 0;
  }

  #isRefused(exchange: Exchange, answer: Answer, body: unknown, authInfo: unknown): boolean {
    const { method } = exchange;
    if (method === 'POST') {
      if (this.sessionId !== undefined && body !== undefined) {
        const id = this.#collides(body);
        if (id !== undefined) return answer.replace({ status: 400, json: inFlight(id.id) });
      }
      this.#posts.set(exchange, new Post(exchange, answer));
    } else if (method === 'GET') {
      const after = exchange.header('last-event-id');
      if (after === undefined) return false;
      // 204: there is nothing, and there will be nothing, so that the client asks no more.
      if (this.#resumed?.isOver(after)) return answer.replace({ status: 204 });
      this.#resumed?.goesOn(after, answer);
    } else if (
      method === 'DELETE' &&
      this.#openedBy !== undefined &&
      this.#scopeOf(exchange, authInfo) !== this.#openedBy
    ) {
      // As if there were no such session: for this caller there is none.
      return answer.replace({ status: 404, json: NO_SESSION });
    }
    return false;
  }

  #collides(body: unknown): { id: unknown } | undefined {
    const ids = idsIn(body);
    const at = ids.findIndex((id, n) => this.#byId.has(id) || ids.indexOf(id) !== n);
    return at < 0 ? undefined : { id: ids[at] };
  }

  #initialize(post: Post, { authInfo }: MessageExtra): void {
    if (this.sessionId !== undefined) this.#openedBy = this.#scopeOf(post.exchange, authInfo);
    else if (this.#context.callers.mintsSessions) post.answer.setHeader(SESSION_HEADER, mintSession());
  }

  #scopeOf(exchange: Exchange, authInfo: unknown): string | undefined {
    return this.#context.callers.scopeOf(exchange, this.sessionId, authInfo, this.#transport.onerror);
  }

  /** Its messages are read one after the other; whether it is over is known after the last of them. */
  #settle(post: Post): void {
    if (!post.isOver) return;
    queueMicrotask(() => {
      if (!post.isOver || this.#posts.get(post.exchange) !== post) return;
      if (post.isResumable) this.#resumed?.over(post);
      if (post.isSilent) void this.#end(post);
      this.#posts.delete(post.exchange);
      for (const id of post.ids) if (this.#byId.get(id) === post) this.#byId.delete(id);
      post.close();
    });
  }

  /**
   * Ends an exchange in which something stays silent: the socket is free, and the SDK's maps have no entry of it.
   *
   * v2 in JSON mode frees its maps only when it answers, so it answers into the replaced response.
   */
  async #end(post: Post): Promise<void> {
    const { answers, silent } = post;
    const json = answers.length > 1 ? answers : answers[0];
    const isReplaced = post.answer.replace(answers.length > 0 ? { status: 200, json } : { status: 202 });
    const [first] = silent;
    if (!isReplaced || !this.#isV2) this.#transport.closeSSEStream(first);
    for (const id of silent) await this.#swallow(id);
  }

  /** The answer that frees the SDK's maps; it reaches nobody, which is what the SDK would complain of. */
  #swallow(id: unknown): Promise<void> {
    const { onerror } = this.#transport;
    this.#transport.onerror = undefined;
    const sent = this.#send(swallowed(id)).catch(() => {});
    this.#transport.onerror = onerror;
    return sent;
  }
}

const NO_SESSION = { jsonrpc: '2.0', error: { code: -32_001, message: 'Session not found' }, id: null };

function inFlight(id: unknown): object {
  const message = `Invalid Request: a request with the id ${JSON.stringify(id)?.slice(0, 50)} is in flight in this session`;
  return { jsonrpc: '2.0', error: { code: -32_600, message }, id };
}

function swallowed(id: unknown): Frame {
  return { jsonrpc: '2.0', id, error: { code: -32_800, message: 'Request cancelled' } } as Frame;
}

function isWeb(request: unknown): request is Request {
  return typeof (request as { headers?: { get?: unknown } } | undefined)?.headers?.get === 'function';
}
