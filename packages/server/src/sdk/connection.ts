/**
 * One connection to a client: sees each frame before the SDK does, and the ones that it writes.
 *
 * So a call is in the registry from the moment it is read, a cancel right behind it finds it, and the handler is
 * never started. Its scope is its own, unless each message comes with an HTTP request that shows whose it is: then a
 * cancel finds its call from any connection of that caller, and no other.
 */
import {
  type Call,
  cancelled,
  connectionScope,
  disconnected,
  type Engine,
  type Owner,
  type StopReason,
} from '../core/index.ts';
import { SILENCE } from './answer.ts';
import type { ProtectContext } from './context.ts';
import { SESSION_HEADER } from './http/callers.ts';
import type { Exchange } from './http/exchange.ts';
import type { MessageExtra } from './http/exchanges.ts';
import { Streamable } from './http/streamable.ts';
import { ASKS_USER, CALL_METHODS } from './methods.ts';
import type { Served } from './nested.ts';
import { OpenQuestions } from './open-questions.ts';
import { ProgressTokens } from './progress-tokens.ts';
import { type Frame, nameIn, type TransportShape } from './shapes.ts';

export class Connection implements Owner {
  /** The server at this end, once there is one. */
  served: Served | undefined;
  private readonly _context: ProtectContext;
  private readonly _engine: Engine;
  private readonly _scope = connectionScope();
  private _transport: TransportShape | undefined;
  private _streamable: Streamable | undefined;
  private _isClosed = false;
  private _letGo: (() => void) | undefined;
  // Calls that were read and that the SDK has not dispatched yet, oldest first: it takes them in this order.
  private readonly _arrived: Call[] = [];
  // Each is there once it is needed: over HTTP most connections carry one call.
  private _progress: ProgressTokens | undefined;
  private _questions: OpenQuestions | undefined;
  // Invariant: the calls in the registry that came over HTTP: whoever made them, their scope may have others too.
  private _overHttp: Set<Call> | undefined;
  private _hasBegun = false;
  private _unlisten: (() => void) | undefined;

  constructor(context: ProtectContext) {
    this._context = context;
    this._engine = context.engine;
  }

  /** A connection in front of the transport's reader, its writer and its end. Once for each transport. */
  static over(transport: TransportShape, context: ProtectContext): Connection {
    const connection = new Connection(context);
    connection._attach(transport);
    return connection;
  }

  /** The call that was read with this id, once: of a request that the SDK dispatches, or answers without that. */
  takeArrived(id: unknown): Call | undefined {
    let at = 0;
    while (at < this._arrived.length && this._arrived[at]?.id !== id) at += 1;
    return at === 0 ? this._arrived.shift() : this._arrived.splice(at, 1)[0];
  }

  /** A call of this connection, from now on. */
  begin(id: unknown, method: string, params: unknown, scope = this._scope): Call {
    // With the second call it makes one after the other; most over HTTP make one.
    if (this._hasBegun && scope === this._scope && !this._isClosed) this._letGo ??= this._engine.registry.hold(scope);
    this._hasBegun = true;
    const call = this._engine.begin({ scope, id, method, name: nameIn(params), owner: this });
    const token = (params as { _meta?: { progressToken?: unknown } } | undefined)?._meta?.progressToken;
    if (token !== undefined) {
      this._progress ??= new ProgressTokens();
      this._progress.begin(call, token);
    }
    return call;
  }

  get isGone(): boolean {
    return this._isClosed;
  }

  left(call: Call): void {
    this._progress?.left(call);
    this._overHttp?.delete(call);
  }

  /** Nothing will be written for this call. Over HTTP that ends the exchange, which nobody else would. */
  silenced(call: Call): void {
    if (this._streamable !== undefined) this._streamable.hush(call.id);
    else if (this._overHttp?.has(call)) void this._transport?.close();
  }

  private _attach(transport: TransportShape): void {
    const { onmessage, onclose } = transport;
    this._transport = transport;
    this._streamable = Streamable.over(transport, this._context.http);
    transport.onmessage = (message, extra) => {
      this._read(message, extra as MessageExtra | undefined);
      onmessage?.(message, extra);
    };
    transport.onclose = () => {
      this._closed();
      onclose?.();
    };
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      const isAnswer = message.method === undefined && message.id !== undefined;
      if (!this._mayWrite(message, options as SendOptions)) {
        if (isAnswer) this._streamable?.hush(message.id);
        return Promise.resolve();
      }
      const sent = send(message, options);
      if (isAnswer) this._streamable?.answered(message);
      if (this._questions !== undefined) sent.catch(() => this._questions?.answered(message.id));
      return sent;
    };
  }

  private _read(message: Frame, extra: MessageExtra | undefined): void {
    const exchange = extra && this._exchangeOf(extra);
    if (exchange !== undefined) this._streamable?.read(message, exchange, extra as MessageExtra);
    if (message.method === undefined) {
      this._questions?.answered(message.id);
    } else if (message.method === 'notifications/cancelled') {
      // A modern client cancels by the end of its stream: what it posts names none of its calls.
      const isNamed = exchange !== undefined && !isModern(extra);
      this._cancel(message, isNamed ? this._scopeOf(exchange, extra as MessageExtra) : undefined);
    } else if (isId(message.id) && CALL_METHODS.has(message.method)) {
      const scope = exchange && this._scopeOf(exchange, extra as MessageExtra);
      const call = this.begin(message.id, String(message.method), message.params, scope);
      this._arrived.push(call);
      if (exchange !== undefined) this._came(call, exchange);
    }
  }

  /** None where nobody wants to know of it: a request of the modern era has a connection of its own. */
  private _exchangeOf(extra: MessageExtra): Exchange | undefined {
    if (this._streamable !== undefined) return this._streamable.exchangeOf(extra);
    const { exchanges, callers } = this._context.http;
    return callers.look || exchanges.hasNames ? exchanges.of(extra) : undefined;
  }

  private _came(call: Call, exchange: Exchange): void {
    // A call that was stopped before it came has left already.
    if (call.state === 'queued') {
      this._overHttp ??= new Set();
      this._overHttp.add(call);
    }
    if (this._streamable !== undefined) this._streamable.began(call, exchange);
    // The SDK hears of a hang-up by the request's signal, which an app may have left behind on the way here.
    else this._unlisten = exchange.onGone(() => void this._transport?.close());
  }

  private _cancel(message: Frame, scope: string | undefined): void {
    const params = (message.params ?? {}) as { requestId?: unknown; reason?: unknown };
    const { requestId, reason } = params;
    const result = this._engine.registry.cancel(scope ?? this._scope, requestId, cancelled('client', reason));
    // The SDK knows no scopes: it must not take this for one of its calls, which then would never be answered.
    if (!('stopped' in result) && this._streamable?.isCall(requestId)) params.requestId = undefined;
  }

  private _scopeOf(exchange: Exchange, extra: MessageExtra): string | undefined {
    const sessionId = isModern(extra) ? undefined : (this._streamable?.sessionId ?? sessionIn(extra));
    return this._context.http.callers.scopeOf(exchange, sessionId, extra.authInfo, this._transport?.onerror);
  }

  private _closed(): void {
    this._isClosed = true;
    this._letGo?.();
    this._unlisten?.();
    const calls = [...this._engine.registry.calls(this._scope), ...(this._overHttp ?? [])];
    // Most often there are none: over HTTP each connection of the modern era ends after its answer.
    const reason = calls.length > 0 ? disconnected() : undefined;
    for (const call of calls) call.stop(reason as StopReason);
    this._streamable?.closed();
    this._arrived.length = 0;
    this._questions = undefined;
  }

  private _mayWrite(message: Frame, options: SendOptions): boolean {
    if (message.method === 'notifications/progress') {
      const { progressToken } = (message.params ?? {}) as { progressToken?: unknown };
      return this._progress?.progressed(progressToken) ?? true;
    }
    if (message.method !== undefined) {
      // Its exchange has ended: the SDK would throw.
      if (message.id === undefined && this._streamable?.isHushed(options?.relatedRequestId)) return false;
      this._asks(message, options);
      return true;
    }
    if (message.id === undefined) return true;
    if (message.error?.data === SILENCE) return false;
    return this._arrived.length === 0 || !this._answeredBeforeDispatch(message.id);
  }

  /** A handler's request to the client, or that it is no longer wanted. */
  private _asks(message: Frame, options: SendOptions): void {
    if (message.method === 'notifications/cancelled') {
      this._questions?.answered((message.params as { requestId?: unknown } | undefined)?.requestId);
    }
    if (options?.relatedRequestId === undefined || !ASKS_USER.has(message.method)) return;
    // Whatever nested call it is that asks: on the wire it has the id of the one that came over it.
    const { relatedRequestId } = options;
    const scope = [...(this._overHttp ?? [])].find(({ id }) => id === relatedRequestId)?.scope ?? this._scope;
    const asking = this._engine.registry.calls(scope).filter((call) => {
      const { id, owner } = rootOf(call);
      return call.state === 'running' && id === relatedRequestId && owner === this;
    });
    this._questions ??= new OpenQuestions();
    this._questions.asked(message.id, asking);
  }

  /** The SDK answered what it never dispatched (a malformed request, say): nobody will run that call. */
  private _answeredBeforeDispatch(id: unknown): boolean {
    const call = this.takeArrived(id);
    call?.discard();
    return call?.reason !== undefined;
  }
}

/** The call that came over the wire, of which this one is, or which it came from. */
export function rootOf(call: Call): Call {
  let root = call;
  while (root.parent !== undefined) root = root.parent;
  return root;
}

type SendOptions = { readonly relatedRequestId?: unknown } | undefined;

/** Over HTTP: such a request has no session. */
function isModern(extra: MessageExtra | undefined): boolean {
  return extra?.classification?.era === 'modern';
}

/** What the client says of its session. */
function sessionIn({ request, requestInfo }: MessageExtra): string | undefined {
  return request?.headers.get(SESSION_HEADER) ?? (requestInfo?.headers[SESSION_HEADER] as string | undefined);
}

function isId(id: unknown): boolean {
  return typeof id === 'string' || typeof id === 'number';
}
