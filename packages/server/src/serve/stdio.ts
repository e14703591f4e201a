/**
 * Serves a protected server over stdio, in both eras, with the official SDK's own entry.
 *
 * When stdin ends, every call is stopped, the ladder is climbed, and the process exits with 0: nothing waits for a
 * handler that does not listen. A main loop that is blocked for good notices no end of stdin; isolate such tools.
 */
import { Connection } from '../sdk/connection.ts';
import type { ProtectContext } from '../sdk/context.ts';
import { isProtected, protect } from '../sdk/protect.ts';
import { type Frame, type ProtectableServer, protocolOf, type TransportShape } from '../sdk/shapes.ts';

export interface ServeContext {
  readonly era: 'legacy' | 'modern';
}

export type ServerFactory = (context: ServeContext) => ProtectableServer | Promise<ProtectableServer>;

export interface ServeStdioOptions {
  /** `reject`: a client of the 2025 revisions is refused. Default `serve`. */
  readonly legacy?: 'serve' | 'reject';
  /** Serves this transport in place of the process's stdio; then the process never exits by itself. */
  readonly transport?: object;
  /** Hears of errors that concern no call. */
  readonly onerror?: (error: Error) => void;
}

export interface StdioServer {
  /** Ends the connection as if the client had: stops every call. Resolves when the ladder is done. */
  close(): Promise<void>;
  /** Resolves when the connection is over and no ladder climbs any more. */
  readonly closed: Promise<void>;
}

interface SdkStdio {
  readonly StdioServerTransport: new () => TransportShape;
  serveStdio(factory: (context: ServeContext) => unknown, options: object): { close(): Promise<void> };
}

/** @throws Error when `@modelcontextprotocol/server` is not installed */
export async function serveStdio(
  factory: ServerFactory,
  options: ServeStdioOptions,
  context: ProtectContext,
): Promise<StdioServer> {
  const sdk = await loadSdk();
  const ownsProcess = options.transport === undefined;
  const transport = (options.transport as TransportShape | undefined) ?? new sdk.StdioServerTransport();
  const relay = new Relay(transport);
  const connection = Connection.over(transport, context.engine);

  let closing = false;
  const closed = relay.closed.then(() => context.engine.laddersDone());
  if (ownsProcess) void closed.then(() => closing || exit());

  const served = sdk.serveStdio(
    async (serving) => {
      const server = await factory(serving);
      if (!isProtected(server)) protect(server, {}, context);
      context.connections.set(protocolOf(server), connection);
      return server;
    },
    {
      transport: relay,
      ...(options.legacy && { legacy: options.legacy }),
      ...(options.onerror && { onerror: options.onerror }),
    },
  );
  return {
    closed,
    async close() {
      closing = true;
      await served.close();
      await closed;
    },
  };
}

async function loadSdk(): Promise<SdkStdio> {
  const name = '@modelcontextprotocol/server/stdio';
  try {
    return (await import(name)) as SdkStdio;
  } catch (error) {
    throw new Error('estop: serveStdio() needs @modelcontextprotocol/server 2.x: npm i @modelcontextprotocol/server', {
      cause: error,
    });
  }
}

/**
 * The transport that the SDK is given. Its entry replaces the callbacks of a transport instead of chaining them; here
 * it replaces the relay's, and whoever reads the real one stays in front.
 */
class Relay {
  onmessage?: TransportShape['onmessage'];
  onclose?: TransportShape['onclose'];
  onerror?: (error: Error) => void;
  readonly closed: Promise<void>;
  readonly #transport: TransportShape;

  constructor(transport: TransportShape) {
    this.#transport = transport;
    transport.onmessage = (message, extra) => this.onmessage?.(message, extra);
    transport.onerror = (error) => this.onerror?.(error);
    this.closed = new Promise((resolve) => {
      transport.onclose = () => {
        this.onclose?.();
        resolve();
      };
    });
  }

  start(): Promise<void> {
    return this.#transport.start();
  }

  send(message: Frame, options?: unknown): Promise<void> {
    return this.#transport.send(message, options);
  }

  close(): Promise<void> {
    return this.#transport.close();
  }
}

/** What was answered before stdin ended has to reach the pipe first. */
function exit(): void {
  process.stdout.write('', () => process.exit(0));
}
