/**
 * A tool that asks a remote database, and a query that never ends: a client presses Stop, and the database is done.
 *
 *     npm run build && node examples/dist/facade/database.js
 */
import { once } from 'node:events';
import { createMcpServer, type McpApp } from '@estop/server';
import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { type DatabaseService, openDatabaseService } from './parts/database-service.ts';
import { isMain, type Say, say, stopOf } from './parts/main.ts';
import { soon } from './parts/soon.ts';

const SHORT = "SELECT 'Ada' AS name, 36 AS age";
const ENDLESS = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n';

export async function demonstrate(service: DatabaseService, say: Say): Promise<void> {
  const app = createMcpServer({ name: 'database' });

  app.tool({
    name: 'query_remote_database',
    description: 'The rows of a query',
    handler: async ({ query }: { query: string }, context) => {
      const response = await fetch(`${service.url}/query`, {
        method: 'POST',
        body: JSON.stringify({ query }),
        signal: context.signal,
      });
      return response.json();
    },
  });

  const client = await connect(app);
  const ask = (query: string, signal?: AbortSignal) =>
    client.callTool({ name: 'query_remote_database', arguments: { query } }, signal && { signal });

  const { content } = await ask(SHORT);
  say(`call:    a query that ends: ${content.map((part) => part.type === 'text' && part.text).join()}`);

  // Registered before the call, so that nothing is missed.
  const row = once(service.events, 'row');
  const givenUp = once(service.events, 'given-up');
  const button = new AbortController();
  const endless = stopOf(ask(ENDLESS, button.signal));
  await soon(row, 'the database has a first row');
  button.abort(new Error('the user pressed Stop'));
  say(`stop:    a query that does not end: ${(await endless).message}`);

  await soon(givenUp, 'the service gives the query up');
  say(`stopped: the query; the database had computed ${service.seen.rows} rows, and runs ${service.seen.running}`);
  await client.close();
  await app.stop();
}

/** A client of the official SDK, as Claude or Cursor has one; in this process, for the example's sake. */
async function connect(app: McpApp): Promise<Client> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await app.serve({ transport: theirs });
  const client = new Client({ name: 'user', version: '1.0.0' });
  await client.connect(ours);
  return client;
}

if (isMain(import.meta)) {
  const service = await openDatabaseService();
  await demonstrate(service, say).finally(() => service.close());
}
