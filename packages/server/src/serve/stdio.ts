/**
 * Serves a protected server over stdio, in both eras, with the official SDK's own entry.
 *
 * When stdin ends, every call is stopped, the ladder is climbed, and the process exits with 0: nothing waits for a
 * handler that does not listen. At SIGTERM or SIGINT the same, the clients are answered, and the process ends by that
 * signal; a second one ends it at once. Where the program itself listens for the signal, estop leaves it to that.
 * A main loop that is blocked for good notices neither; isolate such tools.
 */
import { Connection } from '../sdk/connection.ts';
import type { ProtectContext } from '../sdk/context.ts';
import { isProtected, protect } from '../sdk/protect.ts';
import { type Frame, type ProtectableServer, protocolOf, type TransportShape } from '../sdk/shapes.ts';
import { stdoutRead, stopOnSignals } from './signals.ts';

export interface ServeContext {
  readonly era: 'legacy' | 'modern';
}

export type ServerFactory = (context: ServeContext) => ProtectableServer | Promise<ProtectableServer>;

export interface ServeStdioOptions {
  /** `reject`: a client of the 2025 revisions is refused. Default `serve`. */
  readonly legacy?: 'serve' | 'reject';
  /** Serves this transport in place of the process's stdio; then no signal is listened for, and the process never ends. */
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
  const connection = Connection.over(transport, context);

  // How the process ends is somebody else's: it was closed by its author, or a signal has come.
  let isLeft = false;
  const closed = relay.closed.then(() => context.engine.laddersDone());
  const over = async (): Promise<void> => {
    await closed;
    if (!isLeft) await stdoutRead();
    if (!isLeft) process.exit(0);
  };
  if (ownsProcess) void over();

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
  const stop = (): Promise<void> => {
    isLeft = true;
    return context.engine.close();
  };
  const takeBack = ownsProcess ? stopOnSignals(stop) : () => {};
  return {
    closed,
    async close() {
      isLeft = true;
      await served.close();
      await closed;
      takeBack();
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
