/** A proxy on loopback that passes on its first connection, and has a test decide about each later one, and about loss. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { soon } from './waiting.ts';

export interface Proxy {
  readonly address: { readonly host: string; readonly port: number };
  /** Resolves when a later connection has come; nothing of it is passed on until the test says so. */
  readonly second: Promise<{ pass(): void; close(): void }>;
  /** Resolves when a later connection was closed on both sides. */
  readonly secondClosed: Promise<void>;
  /** From now on every connection is passed on. */
  passAll(): void;
  /** From now on every connection is closed as it comes. */
  refuseAll(): void;
  /** Resolves when so many connections were refused. */
  refused(times: number): Promise<void>;
  /** Resolves when so many have come since `cut`. */
  came(times: number): Promise<void>;
  /** How many were open at once, at most, since `cut`. */
  counts(): { readonly atOnce: number };
  /** The clients lose all their connections; the other side hears nothing of that. */
  cut(): void;
}

export async function startProxy(target: { host: string; port: number }): Promise<Proxy> {
  const sockets = new Set<Socket>();
  const clients = new Set<Socket>();
  let mode: 'first' | 'ask' | 'pass' | 'refuse' = 'first';
  let [all, atOnce, refused] = [0, 0, 0];
  const server = createServer({ pauseOnConnect: true }, (from) => {
    from.on('error', () => {});
    sockets.add(from);
    clients.add(from.once('close', () => clients.delete(from)));
    all += 1;
    atOnce = Math.max(atOnce, clients.size);
    const pass = (): void => {
      const to = connect(target.port, target.host);
      to.on('error', () => from.destroy());
      from.on('close', () => to.destroy());
      sockets.add(to);
      to.pipe(from);
      from.pipe(to);
    };
    if (mode === 'refuse') {
      from.destroy();
      refused += 1;
      server.emit('refused');
      return;
    }
    if (mode === 'pass') return pass();
    if (mode === 'first') {
      mode = 'ask';
      return pass();
    }
    const closed = once(from, 'close').then(() => {});
    server.emit('second', { pass, close: () => from.destroy() }, closed);
  });
  const second = once(server, 'second');
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  const { port } = server.address() as AddressInfo;
  return {
    address: { host: '127.0.0.1', port },
    passAll: () => {
      mode = 'pass';
    },
    refuseAll: () => {
      mode = 'refuse';
    },
    async refused(times) {
      while (refused < times) await soon(once(server, 'refused'), 'a connection is refused');
    },
    async came(times) {
      while (all < times) await soon(once(server, 'connection'), 'a connection comes');
    },
    counts: () => ({ atOnce }),
    cut() {
      [all, atOnce] = [0, 0];
      for (const from of clients) {
        from.unpipe();
        from.removeAllListeners('close').destroy();
      }
      clients.clear();
    },
    get second() {
      return soon(
        second.then(([later]) => later),
        'a second connection comes',
      );
    },
    get secondClosed() {
      return soon(
        second.then(([, closed]) => closed),
        'the second connection is closed',
      );
    },
  };
}
