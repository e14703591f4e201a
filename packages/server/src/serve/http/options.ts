/**
 * What a door over HTTP is given: the factory of its servers, and how it serves them.
 */
import { checkFlag, checkMs, show } from '../../core/index.ts';
import type { ProtectableServer } from '../../sdk/shapes.ts';

/** What a factory is told of the exchange or the session that its server is for, as the SDK's entry tells it. */
export interface HttpServeContext {
  readonly era: 'legacy' | 'modern';
  readonly authInfo?: unknown;
  /** The request without its body: of a session, its first one. */
  readonly requestInfo: Request;
}

/**
 * Makes a server for each POST, or for each session; one that is `protect`ed already stays as it is. Where both majors
 * of the SDK are installed, it makes one more before the first: it shows which major it is, and is closed unused.
 */
export type HttpServerFactory = (context: HttpServeContext) => ProtectableServer | Promise<ProtectableServer>;

export interface HttpHandlerOptions {
  /** Whether a client of the legacy era has a session, and a server of its own in it. Default: no. */
  readonly sessions?: boolean | undefined;
  /** ms after which a session is closed in which no request is open. Default 30 minutes; `Infinity`: it never is. */
  readonly sessionIdleMs?: number | undefined;
  /**
   * Makes the store from which a session's client can fetch what it has missed, an `EventStore` of the SDK. One for each
   * session: a store that sessions share hands out one's events to another. With `sessions` only.
   */
  readonly eventStore?: ((sessionId: string) => object) | undefined;
  /** Whether answers are JSON and no streams: then there is no progress. Default: no. */
  readonly json?: boolean | undefined;
  /** `reject`: a client of the 2025 revisions is refused; with SDK v2 only. Default `serve`. */
  readonly legacy?: 'serve' | 'reject' | undefined;
  /** Hears of errors that concern no call: what a factory has thrown, what the SDK cannot read. */
  readonly onerror?: ((error: Error) => void) | undefined;
}

/** @throws TypeError or RangeError for an option that is none of its kind, naming it */
export function checkHttpOptions(options: HttpHandlerOptions, where: string): void {
  const { sessions, sessionIdleMs, eventStore, json, legacy } = options;
  for (const [name, value] of Object.entries({ sessions, json })) {
    if (value !== undefined) checkFlag(value, `${where}: ${name}`);
  }
  if (sessionIdleMs !== undefined) checkMs(sessionIdleMs, `${where}: sessionIdleMs`);
  if (legacy !== undefined && legacy !== 'serve' && legacy !== 'reject') {
    throw new TypeError(`estop: ${where}: legacy must be "serve" or "reject", got ${show(legacy)}`);
  }
  if (eventStore === undefined) return;
  if (typeof eventStore !== 'function') {
    throw new TypeError(`estop: ${where}: eventStore must be a function that makes one, got ${show(eventStore)}`);
  }
  if (!sessions) throw new TypeError(`estop: ${where}: eventStore is for sessions: add sessions: true`);
}
