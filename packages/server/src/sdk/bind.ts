/**
 * Ties a call to the fresh context that the SDK made for its handler: in place, so that all else stays as it is.
 *
 * The signal becomes the call's own; after a stop `notify` and `log` resolve quietly, and what asks the client
 * (`send`, `elicitInput`, `requestSampling`) rejects with the reason. None of them becomes an unhandled rejection.
 */
import type { Call } from '../core/index.ts';
import type { ContextShape } from './shapes.ts';

/** Enumerable, because the SDK spreads its contexts on the way to a handler. */
const CALL = Symbol.for('estop.call');

export function bind(call: Call, context: ContextShape): void {
  const request = context.mcpReq;
  (context as { [CALL]?: Call })[CALL] = call;
  Object.defineProperty(request, 'signal', { get: () => call.signal, enumerable: true, configurable: true });
  const members = request as unknown as Record<string, unknown>;
  for (const name of ['notify', 'log']) hush(call, members, name);
  for (const name of ['send', 'elicitInput', 'requestSampling']) refuse(call, members, name);
}

/** The call of a handler's context; `undefined` where the server is not protected. */
export function callOf(context: unknown): Call | undefined {
  return (context as { [CALL]?: Call } | null | undefined)?.[CALL];
}

type Method = (...args: unknown[]) => unknown;

function hush(call: Call, members: Record<string, unknown>, name: string): void {
  const method = members[name] as Method | undefined;
  if (method === undefined) return;
  members[name] = (...args: unknown[]): Promise<unknown> => {
    if (call.isCancelled) return Promise.resolve();
    return heard(
      invoke(method, args).catch((error: unknown) => (call.isCancelled ? undefined : Promise.reject(error))),
    );
  };
}

function refuse(call: Call, members: Record<string, unknown>, name: string): void {
  const method = members[name] as Method | undefined;
  if (method === undefined) return;
  members[name] = (...args: unknown[]): Promise<unknown> =>
    heard(call.reason === undefined ? invoke(method, args) : Promise.reject(call.reason));
}

async function invoke(method: Method, args: unknown[]): Promise<unknown> {
  return method(...args);
}

/** The same promise; fire-and-forget is no crash. Whoever awaits it still gets the rejection. */
function heard<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
