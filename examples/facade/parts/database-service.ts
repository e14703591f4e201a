/**
 * A database behind HTTP: `POST /query` with `{ "query": "SELECT ..." }` answers the rows, as JSON.
 *
 * The database is SQLite, in the service's own process. A query is taken row by row, and is given up when its client
 * hangs up. Does not interrupt the database within one row: a sum over a billion rows would block the service.
 */
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import sqlite, { type Database } from 'node-sqlite3-wasm';
import { type HttpServer, listen } from './http-server.ts';

export interface DatabaseService extends HttpServer {
  readonly seen: {
    /** Rows that the database has computed, of all queries. */
    rows: number;
    /** Queries that run. */
    running: number;
    /** Queries that were given up because their client had hung up. */
    givenUp: number;
  };
  /** `row`, for each; `given-up`, for each query, when the database is done with it. */
  readonly events: EventEmitter;
}

export async function openDatabaseService(): Promise<DatabaseService> {
  const database = new sqlite.Database();
  const events = new EventEmitter();
  const seen = { rows: 0, running: 0, givenUp: 0 };

  async function rowsOf(query: string, response: ServerResponse): Promise<unknown[] | undefined> {
    const rows: unknown[] = [];
    // To leave the loop is to end the statement.
    for (const row of statementOf(database, query)) {
      rows.push(row);
      seen.rows += 1;
      events.emit('row');
      await nextTurn();
      if (response.destroyed) return undefined;
    }
    return rows;
  }

  async function answer(body: string, response: ServerResponse): Promise<void> {
    seen.running += 1;
    let rows: unknown[] | undefined;
    try {
      rows = await rowsOf((JSON.parse(body) as { query: string }).query, response);
    } catch (error) {
      response.writeHead(400).end(JSON.stringify({ error: String(error) }));
      return;
    } finally {
      seen.running -= 1;
    }
    if (rows !== undefined) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(rows));
      return;
    }
    seen.givenUp += 1;
    events.emit('given-up');
  }

  const server = await listen((request, response) => {
    text(request).then(
      (body) => answer(body, response),
      () => response.destroy(),
    );
  });
  return {
    ...server,
    seen,
    events,
    async close() {
      await server.close();
      // A query that runs ends by the end of its connection.
      while (seen.running > 0) await nextTurn();
      database.close();
    },
  };
}

function* statementOf(database: Database, query: string): Generator<unknown, void> {
  const statement = database.prepare(query);
  try {
    yield* statement.iterate();
  } finally {
    statement.finalize();
  }
}
