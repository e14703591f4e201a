/**
 * Serves a protected server over stdio: of SDK v2 in both eras, by its own entry; of v1 in the legacy era.
 *
 * When stdin ends, every call is stopped, the ladder is climbed, and the process exits with 0: nothing waits for a
 * handler that does not listen. At SIGTERM or SIGINT the same, the clients are answered, and the process ends by that
 * signal; a second one ends it at once. Where the program itself listens for the signal, estop leaves it to that.
 * A main loop that is blocked for good notices neither; isolate such tools.
 */
import { Connection } from '../sdk/connection.ts';
import type { ProtectContext } from '../sdk/context.ts';
import { isProtected, NO_OPTIONS, protect } from '../sdk/protect.ts';
import { type ProtectableServer, protocolOf, type TransportShape } from '../sdk/shapes.ts';
import type { Entry } from './entry.ts';
import { Relay } from './relay.ts';
import { stdoutRead, stopOnSignals } from './signals.ts';
import { entryFor } from './which-sdk.ts';

export interface ServeContext {
  readonly era: 'legacy' | 'modern';
}

/**
 * With SDK v2 it is called when a client has shown its era; with v1 once, at once, and what it throws is thrown by
 * `serveStdio`. Where both are installed it is called at once too: that server is the first legacy client's.
 */
export type ServerFactory = (context: ServeContext) => ProtectableServer | Promise<ProtectableServer>;

export interface ServeStdioOptions {
  /** `reject`: a client of the 2025 revisions is refused; with SDK v2 only. Default `serve`. */
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

/**
 * @param given of which major the factory's servers are, where that is known; otherwise it is found out
 * @throws Error when no SDK is installed; TypeError for a v1 server and `legacy: 'reject'`; what a factory of v1 throws
 */
export async function serveStdio(
  factory: ServerFactory,
  options: ServeStdioOptions,
  context: ProtectContext,
  given?: Entry,
): Promise<StdioServer> {
  const { entry, make } = given ? { entry: given, make: factory } : await entryFor(factory, options);
  const ownsProcess = options.transport === undefined;
  const transport = (options.transport as TransportShape | undefined) ?? entry.newTransport();
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

  const produce: ServerFactory = async (serving) => {
    const server = await make(serving);
    if (!isProtected(server)) protect(server, NO_OPTIONS, context);
    context.connections.set(protocolOf(server), connection);
    return server;
  };
  const served = await entry.serve(produce, relay, options);
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
