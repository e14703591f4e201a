/**
 * One connection to a client: sees each frame before the SDK does, and the ones that it writes.
 *
 * So a call is in the registry from the moment it is read, a cancel right behind it finds it, and the handler is
 * never started. Its scope is its own: no cancel from elsewhere names a call of this connection.
 */
import { type Call, cancelled, disconnected, type Engine } from '../core/index.ts';
import { SILENCE } from './answer.ts';
import { CALL_METHODS } from './methods.ts';
import { type Frame, nameIn, type TransportShape } from './shapes.ts';

const SILENCED_TOKENS = 1_000;

let connections = 0;

export class Connection {
  readonly #engine: Engine;
  readonly #scope: string;
  // Calls that were read and that the SDK has not dispatched yet, oldest first for each id.
  readonly #arrived = new Map<unknown, Call[]>();
  // Invariant: holds only calls that are in the registry. Clients choose the token, once for each call.
  readonly #progressTokens = new Map<unknown, Call>();
  // Of calls that were stopped and have left, the last ones: what they left behind may still report progress.
  readonly #silenced = new Set<unknown>();

  constructor(engine: Engine) {
    this.#engine = engine;
    connections += 1;
    this.#scope = `connection:${connections}`;
  }

  /** A connection in front of the transport's reader, its writer and its end. Once for each transport. */
  static over(transport: TransportShape, engine: Engine): Connection {
    const connection = new Connection(engine);
    connection.#attach(transport);
    return connection;
  }

  /** The call that the SDK is about to dispatch: the one that was read, or one made now if it was not seen. */
  dispatch(id: unknown, method: string, params: unknown): Call {
    const namesakes = this.#arrived.get(id);
    const call = namesakes?.shift();
    if (namesakes?.length === 0) this.#arrived.delete(id);
    return call ?? this.#begin(id, method, params);
  }

  #attach(transport: TransportShape): void {
    const { onmessage, onclose } = transport;
    transport.onmessage = (message, extra) => {
      this.#read(message);
      onmessage?.(message, extra);
    };
    transport.onclose = () => {
      this.#closed();
      onclose?.();
    };
    const send = transport.send.bind(transport);
    transport.send = (message, options) => (this.#mayWrite(message) ? send(message, options) : Promise.resolve());
  }

  #read(message: Frame): void {
    if (message.method === 'notifications/cancelled') {
      const { requestId, reason } = (message.params ?? {}) as { requestId?: unknown; reason?: unknown };
      this.#engine.registry.cancel(this.#scope, requestId, cancelled('client', reason));
    } else if (isId(message.id) && CALL_METHODS.has(message.method)) {
      const call = this.#begin(message.id, String(message.method), message.params);
      const namesakes = this.#arrived.get(call.id);
      if (namesakes === undefined) this.#arrived.set(call.id, [call]);
      else namesakes.push(call);
    }
  }

  #closed(): void {
    this.#engine.registry.stopScope(this.#scope, disconnected());
    this.#arrived.clear();
  }

  #begin(id: unknown, method: string, params: unknown): Call {
    const init = { scope: this.#scope, id, method, name: nameIn(params) };
    const token = (params as { _meta?: { progressToken?: unknown } } | undefined)?._meta?.progressToken;
    if (token === undefined) return this.#engine.begin(init);
    const call = this.#engine.begin({ ...init, owner: { left: (gone) => this.#forget(token, gone) } });
    this.#silenced.delete(token);
    this.#progressTokens.set(token, call);
    return call;
  }

  #forget(token: unknown, call: Call): void {
    if (this.#progressTokens.get(token) !== call) return;
    this.#progressTokens.delete(token);
    if (!call.isCancelled) return;
    this.#silenced.add(token);
    if (this.#silenced.size > SILENCED_TOKENS) this.#silenced.delete(this.#silenced.values().next().value);
  }

  #mayWrite(message: Frame): boolean {
    if (message.method === 'notifications/progress') {
      const token = (message.params as { progressToken?: unknown } | undefined)?.progressToken;
      return !this.#silenced.has(token) && this.#progressTokens.get(token)?.isCancelled !== true;
    }
    if (message.method !== undefined || message.id === undefined) return true;
    if (message.error?.data === SILENCE) return false;
    return this.#arrived.size === 0 || !this.#answeredBeforeDispatch(message.id);
  }

  /** The SDK answered what it never dispatched (a malformed request, say): nobody will run that call. */
  #answeredBeforeDispatch(id: unknown): boolean {
    const call = this.#arrived.get(id)?.[0];
    if (call === undefined) return false;
    this.dispatch(id, call.method, undefined);
    call.discard();
    return call.isCancelled;
  }
}

function isId(id: unknown): boolean {
  return typeof id === 'string' || typeof id === 'number';
}
