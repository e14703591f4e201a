/**
 * Which era a request is of, and who serves it: the SDK's own entry the modern one, with its own transport estop the
 * legacy one. SDK v1 knows the legacy era alone, and refuses by itself what is of the other.
 */
import type { ProtectContext } from '../../sdk/context.ts';
import type { Exchange } from '../../sdk/http/exchange.ts';
import type { ProtectableServer, TransportShape } from '../../sdk/shapes.ts';
import { legacyAlone } from '../which-sdk.ts';
import { type Connect, EachPost, type Legacy } from './legacy.ts';
import type { Make } from './make.ts';
import type { HttpHandlerOptions } from './options.ts';
import type { FetchOptions, HttpSdk, ModernHandler, NewWebTransport } from './sdk.ts';
import { Sessions } from './sessions.ts';

const DEFAULT_SESSION_IDLE_MS = 30 * 60_000;

export class Eras {
  readonly #isLegacy: (request: Request, options: FetchOptions) => boolean | Promise<boolean>;
  readonly #legacy: Legacy;
  readonly #modern: ModernHandler | undefined;

  /** @throws TypeError when nobody is left to be served */
  constructor({ Transport, modern }: HttpSdk, make: Make, options: HttpHandlerOptions, context: ProtectContext) {
    if (modern === undefined && options.legacy === 'reject') throw legacyAlone('');
    this.#legacy = legacyOf(connecting(Transport, make, options), options, context);
    this.#modern = modern?.createMcpHandler(
      ({ requestInfo, authInfo }: { requestInfo: Request; authInfo?: unknown }) =>
        make('modern', requestInfo, authInfo),
      {
        legacy: 'reject',
        ...(options.json && { responseMode: 'json' }),
        ...(options.onerror && { onerror: options.onerror }),
      },
    );
    this.#isLegacy = (request, { parsedBody }) =>
      modern === undefined || (options.legacy !== 'reject' && modern.isLegacyRequest(request, parsedBody));
  }

  async fetch(request: Request, options: FetchOptions, exchange: Exchange): Promise<Response> {
    const modern = (await this.#isLegacy(request, options)) ? undefined : this.#modern;
    return modern === undefined ? this.#legacy.fetch(request, options, exchange) : modern.fetch(request, options);
  }

  async close(): Promise<void> {
    await Promise.all([this.#legacy.close(), this.#modern?.close()]);
  }
}

function legacyOf(connect: Connect, options: HttpHandlerOptions, context: ProtectContext): Legacy {
  const { sessions, sessionIdleMs = DEFAULT_SESSION_IDLE_MS, eventStore } = options;
  if (!sessions) return new EachPost(connect, context);
  const transport = (sessionId: string): object => (eventStore ? { eventStore: eventStore(sessionId) } : {});
  return new Sessions(connect, transport, context.engine.clock, sessionIdleMs);
}

function connecting(Transport: NewWebTransport, make: Make, { json = false, onerror }: HttpHandlerOptions): Connect {
  return async (request, { authInfo }, { onclose, ...options }) => {
    const server = (await make('legacy', request, authInfo)) as ConnectableServer;
    const transport = new Transport({ sessionIdGenerator: undefined, ...options, enableJsonResponse: json });
    // The server chains them.
    Object.assign(transport, { ...(onclose && { onclose }), ...(onerror && { onerror }) });
    await server.connect(transport);
    return { handle: (...args) => transport.handleRequest(...args), close: () => server.close() };
  };
}

interface ConnectableServer extends ProtectableServer {
  connect(transport: TransportShape): Promise<void>;
}
