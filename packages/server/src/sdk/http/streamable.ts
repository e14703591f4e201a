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
import { endSilently } from './ending.ts';
import type { Exchange } from './exchange.ts';
import type { Exchanges, MessageExtra } from './exchanges.ts';
import { idsIn } from './ids.ts';
import { Post } from './post.ts';
import { readAhead } from './read-ahead.ts';
import { Resumed } from './resumed.ts';

export interface StreamableShape extends TransportShape {
  readonly sessionId?: string | undefined;
  handleRequest(...args: unknown[]): Promise<unknown>;
  closeSSEStream(id: unknown): void;
  /** Only in v2. */
  setSupportedProtocolVersions?: unknown;
  _maxRequestBodySize?: number;
  _webStandardTransport?: { readonly _maxRequestBodySize?: number };
}

export interface HttpContext {
  readonly exchanges: Exchanges;
  readonly callers: Callers;
  readonly alarms: Alarms;
}

const HUSHED_IDS = 1_000;

export class Streamable {
  private readonly _transport: StreamableShape;
  private readonly _context: HttpContext;
  private readonly _send: TransportShape['send'];
  // Invariant: by id, the POSTs that are not done; an id that is in flight is refused, so there is one for each.
  private readonly _byId = new Map<unknown, Post>();
  // The one that the SDK has been given and whose messages were not read yet: theirs have no name. While there is one,
  // the others that come are named.
  private _unread: Post | undefined;
  // Where there is an event store.
  private _resumed: Resumed | undefined;
  // Ids of calls that stay silent, the last ones: what they left behind may still write.
  private _hushed: Set<unknown> | undefined;
  // The session's scope for the caller that opened it, and for nobody else.
  private _openedBy: string | undefined;

  static over(transport: TransportShape, context: HttpContext): Streamable | undefined {
    const { handleRequest, closeSSEStream } = transport as Partial<StreamableShape>;
    if (typeof handleRequest !== 'function' || typeof closeSSEStream !== 'function') return undefined;
    return new Streamable(transport as StreamableShape, context);
  }

  private constructor(transport: StreamableShape, context: HttpContext) {
    this._transport = transport;
    this._context = context;
    this._send = transport.send.bind(transport);
    const handle = transport.handleRequest.bind(transport);
    transport.handleRequest = (...args) =>
      isWeb(args[0]) ? this._web(handle, args[0], args[1]) : this._node(handle, args);
  }

  get sessionId(): string | undefined {
    return this._transport.sessionId;
  }

  /** The exchange that a message came in. */
  exchangeOf(extra: MessageExtra): Exchange | undefined {
    const named = this._context.exchanges.takeNamed(extra);
    return named ?? this._unread?.exchange;
  }

  /** A message that came in an exchange, before the SDK has it. */
  read(message: Frame, exchange: Exchange, extra: MessageExtra): void {
    if (message.id === undefined || message.method === undefined) return;
    const { post } = exchange;
    if (post === undefined) return;
    if (extra.closeSSEStream !== undefined && !post.isResumable) {
      post.isResumable = true;
      this._resumed ??= new Resumed();
      this._resumed.watch(post);
    }
    post.asks(message.id);
    this._byId.set(message.id, post);
    this._hushed?.delete(message.id);
    if (message.method === 'initialize') this._initialize(post, extra);
  }

  began(call: Call, exchange: Exchange): void {
    const { alarms, callers } = this._context;
    exchange.post?.began(call, alarms, callers.disconnectGraceMs);
  }

  /** Whether a call with this id is neither answered nor silent. */
  isCall(id: unknown): boolean {
    return this._byId.get(id)?.isCall(id) === true;
  }

  /** The SDK writes this answer, or its wire refuses it. */
  answered(answer: Frame): void {
    const post = this._byId.get(answer.id);
    if (post === undefined) return;
    post.answered(answer);
    this._settle(post);
  }

  /** Nothing will be written for this id: its exchange ends when all else in it was answered. */
  hush(id: unknown): void {
    const post = this._byId.get(id);
    if (post === undefined) return;
    post.hushed(id);
    this._hushed ??= new Set();
    this._hushed.add(id);
    if (this._hushed.size > HUSHED_IDS) this._hushed.delete(this._hushed.values().next().value);
    this._settle(post);
  }

  isHushed(id: unknown): boolean {
    return this._hushed?.has(id) === true;
  }

  /** The transport is closed. In JSON mode the SDK leaves the clients waiting; then they are told. */
  closed(): void {
    for (const post of this._byId.values()) {
      this._done(post);
      post.answer.replace({ status: 404, json: NO_SESSION });
    }
  }

  private async _node(handle: StreamableShape['handleRequest'], args: unknown[]): Promise<unknown> {
    const [request, response, given] = args as [IncomingMessage, ServerResponse, unknown];
    const { exchanges } = this._context;
    const exchange = exchanges.ofNode(request, response);
    const answer = new NodeAnswer(response);
    const isParsed = given !== undefined && typeof given !== 'function';
    const isUnread = !isParsed && exchange.method === 'POST';
    const body = isUnread ? await readAhead(request, this._bodyBound) : isParsed ? given : undefined;
    if (this._isRefused(exchange, answer, body, (request as { auth?: unknown }).auth)) return undefined;
    if (!this._isNext(exchange)) exchanges.nameNode(request, response, exchange);
    const handled = handle(request, response, body ?? given);
    return answer.over(handled, () => this._isHandled(exchange));
  }

  private async _web(handle: StreamableShape['handleRequest'], given: Request, options: unknown): Promise<Response> {
    const { parsedBody, authInfo } = (options ?? {}) as { parsedBody?: unknown; authInfo?: unknown };
    const { exchanges } = this._context;
    const exchange = exchanges.ofWeb(given);
    const answer = new WebAnswer();
    const body = parsedBody ?? (this._mayCollide(exchange) ? await readAhead(given.clone(), Infinity) : undefined);
    if (this._isRefused(exchange, answer, body, authInfo)) return answer.instead(undefined);
    const { request, forget } = this._isNext(exchange)
      ? { request: given, forget: () => {} }
      : exchanges.nameWeb(given, exchange);
    return answer.instead(handle(request, options) as Promise<Response>, () => {
      forget();
      this._isHandled(exchange);
    });
  }

  /** Whether the messages that come next without a name are this exchange's. Only a POST has any. */
  private _isNext(exchange: Exchange): boolean {
    const { post } = exchange;
    if (post === undefined) return true;
    // One that has a request was read: its messages come one after the other, with nothing in between.
    if (this._unread?.isEmpty) return false;
    this._unread = post;
    return true;
  }

  /** The SDK has answered, or has begun to: no message will come any more. */
  private _isHandled(exchange: Exchange): void {
    if (this._unread?.exchange === exchange) this._unread = undefined;
  }

  /**
   * Bytes. A private matter of the SDK's, and only a matter of speed here: where it is not known, the body goes on as it
   * came.
   */
  private get _bodyBound(): number {
    const { _webStandardTransport: inner, _maxRequestBodySize: bound } = this._transport;
    return inner?._maxRequestBodySize ?? bound ?? 0;
  }

  /** Whether another POST is open in this session: a web request is copied to be read, so it is only done then. */
  private _mayCollide(exchange: Exchange): boolean {
    return (
      exchange.method === 'POST' && this.sessionId !== undefined && (this._byId.size > 0 || this._unread !== undefined)
    );
  }

  /** Answers what must not go on, and makes ready what does. @returns whether it was answered */
  private _isRefused(exchange: Exchange, answer: Answer, body: unknown, authInfo: unknown): boolean {
    const { method } = exchange;
    if (method === 'POST') {
      if (this.sessionId !== undefined && body !== undefined) {
        const id = this._collides(body);
        if (id !== undefined) return answer.replace({ status: 400, json: inFlight(id.id) });
      }
      exchange.post = new Post(exchange, answer);
    } else if (method === 'GET') {
      const after = exchange.header('last-event-id');
      if (after === undefined) return false;
      // 204: there is nothing, and there will be nothing, so that the client asks no more.
      if (this._resumed?.isOver(after)) return answer.replace({ status: 204 });
      this._resumed?.goesOn(after, answer);
    } else if (
      method === 'DELETE' &&
      this._openedBy !== undefined &&
      this._scopeOf(exchange, authInfo) !== this._openedBy
    ) {
      // As if there were no such session: for this caller there is none.
      return answer.replace({ status: 404, json: NO_SESSION });
    }
    return false;
  }

  private _collides(body: unknown): { id: unknown } | undefined {
    const ids = idsIn(body);
    const at = ids.findIndex((id, n) => this._byId.has(id) || ids.indexOf(id) !== n);
    return at < 0 ? undefined : { id: ids[at] };
  }

  private _initialize(post: Post, { authInfo }: MessageExtra): void {
    if (this.sessionId !== undefined) this._openedBy = this._scopeOf(post.exchange, authInfo);
    else if (this._context.callers.mintsSessions) post.answer.setHeader(SESSION_HEADER, mintSession());
  }

  private _scopeOf(exchange: Exchange, authInfo: unknown): string | undefined {
    return this._context.callers.scopeOf(exchange, this.sessionId, authInfo, this._transport.onerror);
  }

  /** Its messages are read one after the other; whether it is over is known after the last of them. */
  private _settle(post: Post): void {
    if (!post.isOver) return;
    queueMicrotask(() => {
      if (!post.isOver || post.isDone) return;
      if (post.isResumable) this._resumed?.over(post);
      if (post.isSilent) void endSilently(post, this._transport, this._send);
      this._done(post);
    });
  }

  private _done(post: Post): void {
    if (post.isDone) return;
    post.isDone = true;
    if (this._unread === post) this._unread = undefined;
    for (const id of post.ids) if (this._byId.get(id) === post) this._byId.delete(id);
    post.close();
  }
}

const NO_SESSION = { jsonrpc: '2.0', error: { code: -32_001, message: 'Session not found' }, id: null };

function inFlight(id: unknown): object {
  const message = `Invalid Request: a request with the id ${JSON.stringify(id)?.slice(0, 50)} is in flight in this session`;
  return { jsonrpc: '2.0', error: { code: -32_600, message }, id };
}

function isWeb(request: unknown): request is Request {
  return typeof (request as { headers?: { get?: unknown } } | undefined)?.headers?.get === 'function';
}
