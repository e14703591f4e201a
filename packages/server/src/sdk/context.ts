/**
 * What all that is put around servers of one engine shares.
 */
import { Engine, type EngineOptions, type RunOptions, timeoutFromEnvironment } from '../core/index.ts';
import type { Connection } from './connection.ts';
import { Callers, type HttpOptions } from './http/callers.ts';
import { Exchanges } from './http/exchanges.ts';
import type { HttpContext } from './http/streamable.ts';
import { type DeadlineOptions, deadlineOf, type Rules } from './rules.ts';
import type { ProtocolShape } from './shapes.ts';

export interface ProtectContext {
  readonly engine: Engine;
  /** What holds where neither tool nor server says anything. */
  readonly fallback: RunOptions;
  readonly http: HttpContext;
  /** What options came to, by those: `protect()` is called for each request. */
  readonly rules: WeakMap<object, Rules>;
  /** For a server that is about to be connected: the connection, when something in front of it reads the wire already. */
  readonly connections: WeakMap<ProtocolShape, Connection>;
}

/**
 * @param where names the place for errors: `createEstop()`
 * @param defaultTimeoutMs ms that hold where neither the options nor the environment say anything; `Infinity`: none
 * @throws RangeError for an option that is no number of its kind, or a bad `ESTOP_TOOL_TIMEOUT_MS`
 */
export function contextOf(
  options: EngineOptions & DeadlineOptions & { readonly http?: HttpOptions | undefined },
  where: string,
  defaultTimeoutMs: number,
): ProtectContext {
  const callers = new Callers(options.http);
  const engine = new Engine(options);
  const others = { timeoutMs: timeoutFromEnvironment(process.env) ?? defaultTimeoutMs };
  return {
    engine,
    fallback: deadlineOf(options, `${where}: `, others),
    http: { exchanges: new Exchanges(), callers, alarms: engine.alarms },
    rules: new WeakMap(),
    connections: new WeakMap(),
  };
}
