/**
 * Ports on loopback for servers: one that is free, and whether somebody accepts connections there by now.
 *
 * A free port is taken by nobody at the moment of the look, and is given out once. Does not reserve it: between the
 * look and the server's own `listen` another program could take it.
 */
import { connect, createServer } from 'node:net';
import { urlToHttpOptions } from 'node:url';

/** Below what Linux, macOS and Windows give to outgoing connections and to those who ask for any port. */
const FIRST = 20_000;
const COUNT = 12_000;
const TRIES = 200;
const CONNECT_MS = 1_000;

// Probes that run beside each other begin at different places.
let next = Math.floor(Math.random() * COUNT);

/** @throws when none was found */
export async function freePort(): Promise<number> {
  for (let n = 0; n < TRIES; n++) {
    const port = FIRST + (next++ % COUNT);
    if (await isFree(port)) return port;
  }
  throw new Error(`estop probe: no free port was found among ${TRIES} from ${FIRST} on`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** Whether a connection to the host and port of `url` comes about; false after a second of silence. */
export function accepts(url: URL): Promise<boolean> {
  const { hostname, port } = urlToHttpOptions(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port ?? 80), hostname ?? '');
    const settle = (accepted: boolean): void => {
      socket.destroy();
      resolve(accepted);
    };
    socket.setTimeout(CONNECT_MS, () => settle(false));
    socket.once('connect', () => settle(true)).once('error', () => settle(false));
  });
}
