/** A proxy on loopback that passes on its first connection, and has a test decide about each later one. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { soon } from './waiting.ts';

export interface Proxy {
  readonly host: string;
  readonly port: number;
  /** Resolves when a later connection has come; nothing of it is passed on until the test says so. */
  readonly second: Promise<{ pass(): void; close(): void }>;
  /** Resolves when a later connection was closed on both sides. */
  readonly secondClosed: Promise<void>;
  /** From now on every connection is passed on. */
  passAll(): void;
}

export async function startProxy(target: { host: string; port: number }): Promise<Proxy> {
  const sockets: Socket[] = [];
  let passesAll = false;
  const server = createServer({ pauseOnConnect: true }, (from) => {
    from.on('error', () => {});
    sockets.push(from);
    const pass = (): void => {
      const to = connect(target.port, target.host);
      to.on('error', () => from.destroy());
      from.on('close', () => to.destroy());
      sockets.push(to);
      to.pipe(from);
      from.pipe(to);
    };
    if (passesAll || sockets.length === 1) return pass();
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
    host: '127.0.0.1',
    port,
    passAll: () => {
      passesAll = true;
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
