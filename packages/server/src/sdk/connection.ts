/**
 * One connection to a client: sees each frame before the SDK does, and the ones that it writes.
 *
 * So a call is in the registry from the moment it is read, a cancel right behind it finds it, and the handler is
 * never started. Its scope is its own: no cancel from elsewhere names a call of this connection.
 */
import { type Call, cancelled, connectionScope, disconnected, type Engine, type Owner } from '../core/index.ts';
import { SILENCE } from './answer.ts';
import { ASKS_USER, CALL_METHODS } from './methods.ts';
import type { Served } from './nested.ts';
import { type Frame, nameIn, type TransportShape } from './shapes.ts';

const SILENCED_TOKENS = 1_000;

export class Connection implements Owner {
  /** The server at this end, once there is one. */
  served: Served | undefined;
  readonly #engine: Engine;
  readonly #scope = connectionScope();
  #isClosed = false;
  #letGo: (() => void) | undefined;
  // Calls that were read and that the SDK has not dispatched yet, oldest first: it takes them in this order.
  readonly #arrived: Call[] = [];
  // Invariant: both hold only calls that are in the registry. Clients choose the token, once for each call.
  readonly #progressTokens = new Map<unknown, Call>();
  readonly #tokens = new Map<Call, unknown>();
  // Of calls that were stopped and have left, the last ones: what they left behind may still report progress.
  readonly #silenced = new Set<unknown>();
  // By id, as text (the SDK takes "0" for 0): requests that the user has not answered, and the calls that stand still.
  readonly #asked = new Map<string, readonly Call[]>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** A connection in front of the transport's reader, its writer and its end. Once for each transport. */
  static over(transport: TransportShape, engine: Engine): Connection {
    const connection = new Connection(engine);
    connection.#attach(transport);
    return connection;
  }

  /** The call that was read with this id, once: of a request that the SDK dispatches, or answers without that. */
  takeArrived(id: unknown): Call | undefined {
    let at = 0;
    while (at < this.#arrived.length && this.#arrived[at]?.id !== id) at += 1;
    return at === 0 ? this.#arrived.shift() : this.#arrived.splice(at, 1)[0];
  }

  /** A call of this connection, from now on. */
  begin(id: unknown, method: string, params: unknown): Call {
    const call = this.#engine.begin({ scope: this.#scope, id, method, name: nameIn(params), owner: this });
    const token = (params as { _meta?: { progressToken?: unknown } } | undefined)?._meta?.progressToken;
    if (token !== undefined) {
      this.#silenced.delete(token);
      this.#progressTokens.set(token, call);
      this.#tokens.set(call, token);
    }
    return call;
  }

  get isGone(): boolean {
    return this.#isClosed;
  }

  left(call: Call): void {
    if (this.#tokens.size > 0) this.#forget(call);
  }

  #attach(transport: TransportShape): void {
    const { onmessage, onclose } = transport;
    this.#letGo = this.#engine.registry.hold(this.#scope);
    transport.onmessage = (message, extra) => {
      this.#read(message);
      onmessage?.(message, extra);
    };
    transport.onclose = () => {
      this.#closed();
      onclose?.();
    };
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      if (!this.#mayWrite(message, options as SendOptions)) return Promise.resolve();
      const sent = send(message, options);
      if (this.#asked.size > 0) sent.catch(() => this.#answered(message.id));
      return sent;
    };
  }

  #read(message: Frame): void {
    if (message.method === undefined) {
      if (this.#asked.size > 0) this.#answered(message.id);
    } else if (message.method === 'notifications/cancelled') {
      const { requestId, reason } = (message.params ?? {}) as { requestId?: unknown; reason?: unknown };
      this.#engine.registry.cancel(this.#scope, requestId, cancelled('client', reason));
    } else if (isId(message.id) && CALL_METHODS.has(message.method)) {
      this.#arrived.push(this.begin(message.id, String(message.method), message.params));
    }
  }

  #closed(): void {
    this.#isClosed = true;
    this.#letGo?.();
    this.#engine.registry.stopScope(this.#scope, disconnected());
    this.#arrived.length = 0;
    this.#asked.clear();
  }

  #forget(call: Call): void {
    const token = this.#tokens.get(call);
    this.#tokens.delete(call);
    if (token === undefined || this.#progressTokens.get(token) !== call) return;
    this.#progressTokens.delete(token);
    if (call.reason === undefined) return;
    this.#silenced.add(token);
    if (this.#silenced.size > SILENCED_TOKENS) this.#silenced.delete(this.#silenced.values().next().value);
  }

  #mayWrite(message: Frame, options: SendOptions): boolean {
    if (message.method === 'notifications/progress') return this.#progress(message);
    if (message.method !== undefined) {
      this.#asks(message, options);
      return true;
    }
    if (message.id === undefined) return true;
    if (message.error?.data === SILENCE) return false;
    return this.#arrived.length === 0 || !this.#answeredBeforeDispatch(message.id);
  }

  #progress(message: Frame): boolean {
    const token = (message.params as { progressToken?: unknown } | undefined)?.progressToken;
    const call = this.#progressTokens.get(token);
    if (call?.reason !== undefined || this.#silenced.has(token)) return false;
    call?.progressed();
    return true;
  }

  /** A handler's request to the client, or that it is no longer wanted. */
  #asks(message: Frame, options: SendOptions): void {
    if (message.method === 'notifications/cancelled') {
      this.#answered((message.params as { requestId?: unknown } | undefined)?.requestId);
    }
    if (options?.relatedRequestId === undefined || !ASKS_USER.has(message.method)) return;
    // Whatever nested call it is that asks: on the wire it has the id of the one that came over it.
    const asking = this.#engine.registry
      .calls(this.#scope)
      .filter((call) => call.state === 'running' && rootOf(call).id === options.relatedRequestId);
    for (const call of asking) call.pause();
    this.#asked.set(String(message.id), asking);
  }

  #answered(id: unknown): void {
    for (const call of this.#asked.get(String(id)) ?? []) call.resume();
    this.#asked.delete(String(id));
  }

  /** The SDK answered what it never dispatched (a malformed request, say): nobody will run that call. */
  #answeredBeforeDispatch(id: unknown): boolean {
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

function isId(id: unknown): boolean {
  return typeof id === 'string' || typeof id === 'number';
}
