/**
 * What is used of `pg` (8.x), by its shape alone: none of its code and none of its types is needed to compile this.
 *
 * All of it is in pg's own types, but the key of a connection for cancels (`processID`, `secretKey`), which its
 * `Client.prototype.cancel` reads too, and what a client and a pool were made with. Looked at when a query is made: a client of another shape is refused.
 */
import type { EventEmitter } from 'node:events';

/** A `pg.Pool`, a `pg.Client`, or a client that was checked out of a pool. */
export interface PoolOrClient {
  connect(): Promise<unknown>;
  query(text: string): Promise<unknown>;
}

/** As pg takes it; a config for `Cursor` or `QueryStream` is none. */
export interface QueryConfig {
  readonly text: string;
  readonly name?: string | undefined;
  readonly values?: readonly unknown[] | undefined;
  readonly types?: object | undefined;
  readonly rowMode?: 'array' | undefined;
  readonly query_timeout?: number | undefined;
}

/** As pg gives it, of one statement. */
export interface QueryResult<Row> {
  rows: Row[];
  rowCount: number | null;
  command: string;
  oid: number;
  fields: {
    name: string;
    tableID: number;
    columnID: number;
    dataTypeID: number;
    dataTypeSize: number;
    dataTypeModifier: number;
    format: string;
  }[];
}

export interface Pool {
  /** Both absent in what only looks like a pool. */
  readonly Client?: OwnClientClass;
  readonly options?: object;
  connect(): Promise<PooledClient>;
}

export interface Client extends EventEmitter {
  readonly connectionParameters: object;
  readonly host: string;
  readonly port: number;
  readonly user: string | undefined;
  readonly database: string | undefined;
  readonly ssl: unknown;
  readonly sslNegotiation?: string;
  readonly pipeline?: boolean;
  readonly processID: number | null;
  readonly secretKey: number | null;
  readonly connection: Connection;
  query(query: Query): unknown;
}

interface PooledClient extends Client {
  release(destroy?: boolean): void;
}

/** A client that nobody else has. */
export interface OwnClient extends EventEmitter {
  readonly processID: number | null;
  readonly connection: Connection;
  connect(): Promise<unknown>;
  query(text: string, values: readonly unknown[]): Promise<{ readonly rows: readonly Record<string, string>[] }>;
  end(): Promise<unknown>;
}

type OwnClientClass = new (config: object) => OwnClient;

/** A connection to the server, and its messages as events: `readyForQuery`, `end`. */
export interface Connection extends EventEmitter {
  readonly stream: { pause(): void; resume(): void; destroy(): void };
  connect(portOrSocket: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processID: number, secretKey: number): void;
}

type ConnectionClass = new (config: { ssl: unknown; sslNegotiation: string | undefined }) => Connection;

type Callback = (error: Error | null | undefined, result?: unknown) => void;

export type QueryClass = new (
  textOrConfig: string | QueryConfig,
  values: readonly unknown[] | undefined,
  callback: Callback,
) => Query;

export interface Query {
  query_timeout?: number | undefined;
  /** Sends it. pg calls this when the connection is free; an error that it returns means that nothing was sent. */
  submit(connection: Connection): Error | null;
}

export function isClient(poolOrClient: PoolOrClient): boolean {
  return 'processID' in poolOrClient;
}

/** pg's own `Connection`. */
export function connectionClassOf(client: Client): ConnectionClass {
  return client.connection.constructor as ConnectionClass;
}

/**
 * A new client to where that one was connected. As its pool makes them, where there is one: a password or a stream that
 * is a function is asked for again; a client alone has kept the password that it was given last.
 */
export function another(client: Client, pool: Pool | undefined): OwnClient {
  if (pool?.Client !== undefined && pool.options !== undefined) return new pool.Client(pool.options);
  return new (client.constructor as OwnClientClass)(client.connectionParameters);
}

/**
 * @returns pg's own `Query`
 * @throws TypeError for what cannot be cancelled by itself
 */
export function queryClassFor(client: Client, textOrConfig: string | QueryConfig): QueryClass {
  // Which a client brings along.
  const { Query } = client.constructor as { readonly Query?: QueryClass };
  if (!('processID' in client) || Query === undefined) {
    throw new TypeError('estop: pg: this is no client of pg 8 in JavaScript (one of pg-native cannot be used)');
  }
  // A cancel ends whatever runs on its connection, and there the next statement is sent before the last has ended.
  if (client.pipeline) throw new TypeError('estop: pg: a client with `pipeline: true` cannot be used');
  if (typeof textOrConfig === 'object' && 'submit' in textOrConfig) {
    throw new TypeError('estop: pg: a query is a text or a config; a Cursor or a QueryStream cannot be used');
  }
  return Query;
}
