/**
 * A real PostgreSQL, and what is seen of it from outside.
 *
 * Where there is none, its tests are skipped, and say how to get them; under ESTOP_REQUIRE_SERVICES=1 they fail.
 */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { describe, onTestFinished } from 'vitest';
import { soon } from './waiting.ts';

const url = process.env['ESTOP_TEST_POSTGRES'];

export function describePostgres(name: string, tests: () => void): void {
  if (url !== undefined) return void describe(name, tests);
  const how = 'set ESTOP_TEST_POSTGRES=postgres://..., or run `bash .ci/services npm test`';
  if (process.env['ESTOP_REQUIRE_SERVICES'] === '1')
    throw new Error(`no PostgreSQL, and nothing may be skipped: ${how}`);
  console.warn(`skipped for want of PostgreSQL: "${name}"; ${how}`);
  describe.skip(name, tests);
}

export function newPool(config: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, ...config });
  // Of idle connections that are lost: a pool without a listener ends the process.
  pool.on('error', () => {});
  onTestFinished(() => soon(pool.end(), 'the pool ends'));
  return pool;
}

export async function newClient(config: pg.ClientConfig = {}): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, ...config });
  client.on('error', () => {});
  await client.connect();
  onTestFinished(() => soon(client.end(), 'the client ends'));
  return client;
}

/** Where the server listens. */
export function address(): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(url ?? '');
  return { host: hostname, port: Number(port || 5432) };
}

/** A connection that takes no part, and sees what runs on the server. */
export class Outside {
  readonly client: pg.Client;

  private constructor(client: pg.Client) {
    this.client = client;
  }

  static async open(): Promise<Outside> {
    return new Outside(await newClient());
  }

  /** The server process that runs a statement with this mark in it, if any does. */
  async pidOf(mark: string): Promise<number | undefined> {
    const { rows } = await this.client.query(
      `select pid from pg_stat_activity where state = 'active' and strpos(query, $1) > 0 and pid <> pg_backend_pid()`,
      [mark],
    );
    return rows[0]?.pid;
  }

  /** Looks until it runs: a look is a round trip. */
  async runs(mark: string): Promise<number> {
    const look = async (): Promise<number> => (await this.pidOf(mark)) ?? look();
    return soon(look(), `the server runs ${mark}`);
  }

  /** Looks until so many run. */
  async run(mark: string, times: number): Promise<void> {
    const look = async (): Promise<void> => {
      const { rowCount } = await this.client.query(
        `select from pg_stat_activity where state = 'active' and strpos(query, $1) > 0 and pid <> pg_backend_pid()`,
        [mark],
      );
      return rowCount === times ? undefined : look();
    };
    await soon(look(), `the server runs ${mark}, ${times} times`);
  }

  /** Whether that server process is there, whatever it does. */
  async isThere(pid: number): Promise<boolean> {
    const { rowCount } = await this.client.query('select from pg_stat_activity where pid = $1', [pid]);
    return rowCount === 1;
  }

  async runsNoMore(mark: string): Promise<void> {
    const look = async (): Promise<void> => ((await this.pidOf(mark)) === undefined ? undefined : look());
    await soon(look(), `the server does not run ${mark} any more`);
  }
}

/** A statement that does not end by itself, and how it is found. */
export function endless(): { readonly sql: string; readonly mark: string } {
  const mark = randomUUID();
  return { sql: `select pg_sleep(600) /* ${mark} */`, mark };
}

/** A statement that ends when the test says so, with a row. */
export async function held(outside: Outside): Promise<{ sql: string; mark: string; ends(): Promise<void> }> {
  const mark = randomUUID();
  const key = Number.parseInt(mark.slice(0, 8), 16);
  await outside.client.query('select pg_advisory_lock($1)', [key]);
  return {
    mark,
    sql: `select 'ended' as word from pg_advisory_xact_lock_shared(${key}) /* ${mark} */`,
    ends: async () => void (await outside.client.query('select pg_advisory_unlock($1)', [key])),
  };
}
