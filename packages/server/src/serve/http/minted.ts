/**
 * The end of a session that estop minted: there is nothing to close, but its calls are stopped.
 */
import { disconnected } from '../../core/index.ts';
import type { ProtectContext } from '../../sdk/context.ts';
import { isMinted, SESSION_HEADER } from '../../sdk/http/callers.ts';
import type { Exchange } from '../../sdk/http/exchange.ts';

type OnError = ((error: Error) => void) | undefined;

/** @returns whether this is such a request: it is done, and to be answered with 200 */
export function endsMinted(
  exchange: Exchange,
  authInfo: unknown,
  { engine, http }: ProtectContext,
  onerror?: OnError,
): boolean {
  if (exchange.method !== 'DELETE') return false;
  const sessionId = exchange.header(SESSION_HEADER);
  if (!isMinted(sessionId)) return false;
  const scope = http.callers.scopeOf(exchange, sessionId, authInfo, onerror);
  // Invariant: of a session and nobody else; what is no session id has the scope of its principal, which others share.
  if (scope?.startsWith('session:')) engine.registry.stopScope(scope, disconnected());
  return true;
}
