/**
 * What the sides over HTTP call, on a `node:http` server. Arguments: bare | protected, a wiring.
 *
 * Says on stderr where it listens; goes when its stdin ends.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isWiring, type Wiring } from '../wirings.ts';
import { type Listener, stateful, stateless } from './http/listeners.ts';

// The other major is not loaded.
const v1 = () => import('./http/v1.js');
const v2 = () => import('./http/v2.js');

const LISTENERS: Readonly<Record<Wiring, () => Promise<Listener>>> = {
  'v1 stateful, SSE': async () => stateful((await v1()).connect),
  'v1 stateful, JSON': async () => stateful((await v1()).connect, true),
  'v1 stateless': async () => stateless((await v1()).connect),
  'v2 stateful': async () => stateful((await v2()).connect),
  'v2 createMcpHandler, legacy': async () => (await v2()).handler,
  'v2 createMcpHandler, modern': async () => (await v2()).handler,
};

const [, , , wiring] = process.argv;
if (!isWiring(wiring)) throw new Error(`no such wiring: ${wiring}`);
const listener = await LISTENERS[wiring]();

const server = createServer((request, response) => {
  listener(request, response).catch((error: unknown) => {
    if (!response.headersSent) response.writeHead(500);
    response.end(error instanceof Error ? error.message : String(error));
  });
});
// A connection is kept however long the others' turns take.
server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1', () => {
  process.stderr.write(`listening ${(server.address() as AddressInfo).port}\n`);
});
process.stdin.on('end', () => process.exit()).resume();
