/**
 * `@estop/server/pg`: a query on PostgreSQL, through pg, that ends with its call: on the server, and with proof.
 *
 * When the call is stopped, the wait ends at once, and a cancel request goes to the server. The query is work of the
 * call: `unknown` until the server itself has answered for it, with 57014 or with a result, and `ended` then.
 * Does not call back what was committed, or what a statement did outside of its transaction (`dblink`, `nextval`). So it
 * stays while code in the server ignores the cancel. When its connection is lost, it is looked for over another one:
 * `none-found` when the server knows its process no more, which is evidence and no proof, see `lost`.
 */
import {
  another,
  type Client,
  isClient,
  type Pool,
  type PoolOrClient,
  type QueryConfig,
  type QueryResult,
} from './driver.ts';
import { refusalOf, Statement, type WorkingCall } from './statement.ts';

export type { PoolOrClient, QueryConfig, QueryResult, WorkingCall };

/**
 * Sends a query for `call`. On a pool, its connection stays checked out until the server has answered; after a cancel,
 * or an error, it is closed then and not used again. On a client, whatever is sent next waits for the cancel.
 *
 * @param poolOrClient  of pg 8, in JavaScript: not pg-native, and not with `pipeline: true`
 * @param textOrConfig  as pg takes it; not a `Cursor` or a `QueryStream`
 * @returns pg's own result; rejects as pg does, and with the `StopReason` when the stop was first
 */
export async function query<Row extends object = Record<string, unknown>>(
  call: WorkingCall,
  poolOrClient: PoolOrClient,
  textOrConfig: string | QueryConfig,
  values?: readonly unknown[],
): Promise<QueryResult<Row>> {
  const refusal = refusalOf(call);
  if (refusal !== undefined) throw refusal;
  let takeBack = (): void => {};
  const stopped = new Promise<never>((_, reject) => {
    takeBack = call.onStop(reject);
  });
  const answer = isClient(poolOrClient)
    ? send(call, poolOrClient as unknown as Client, textOrConfig, values)
    : sendOnPool(call, poolOrClient as unknown as Pool, textOrConfig, values);
  try {
    // The race is a rejection handler for the one that loses.
    return (await Promise.race([answer, stopped])) as QueryResult<Row>;
  } finally {
    takeBack();
  }
}

async function sendOnPool(
  call: WorkingCall,
  pool: Pool,
  textOrConfig: string | QueryConfig,
  values: readonly unknown[] | undefined,
): Promise<unknown> {
  const client = await pool.connect();
  // A client tells of its lost connection by an event too, which is an uncaught exception when nobody listens.
  const heard = (): void => {};
  client.on('error', heard);
  const free = (isSpoilt: boolean): void => {
    client.off('error', heard);
    client.release(isSpoilt);
  };
  return send(call, client, textOrConfig, values, { free, pool });
}

function send(
  call: WorkingCall,
  client: Client,
  textOrConfig: string | QueryConfig,
  values: readonly unknown[] | undefined,
  { free = () => {}, pool }: { free?: (isSpoilt: boolean) => void; pool?: Pool } = {},
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    try {
      new Statement(call, client, textOrConfig, values, {
        result: resolve,
        error: reject,
        free,
        another: () => another(client, pool),
      });
    } catch (error) {
      free(false);
      reject(error);
    }
  });
}
