/** A query whose server is lost and never comes back: says what is known of it, and has nothing else to do. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { Engine } from '@estop/server/core';
import { query } from '@estop/server/pg';
import pg from 'pg';

const account = JSON.parse(process.argv[2]);
const sockets = [];
const proxy = createServer((from) => {
  const to = connect(account.port, account.host);
  sockets.push(from, to);
  for (const socket of [from, to]) socket.on('error', () => {});
  from.pipe(to).pipe(from);
}).listen(0, '127.0.0.1');
await once(proxy, 'listening');

const client = new pg.Client({ ...account, host: '127.0.0.1', port: proxy.address().port });
client.on('error', () => {});
await client.connect();
const call = new Engine().begin({ scope: 'connection:1', id: 1, method: 'tools/call', name: 'report' });
const answer = call.run(() => query(call, client, 'select pg_sleep(600)'), { timeoutMs: Infinity });
const seen = [call.outcome()];
for (const socket of sockets) socket.destroy();
proxy.close();
await answer.catch(() => {});
seen.push(call.outcome());
console.log(JSON.stringify({ states: seen.map(({ state }) => state), works: seen.map(({ work }) => work) }));
