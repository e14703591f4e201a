/** A proxy on loopback that half-closes: when the client is gone it says so, and goes on listening to the server. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** @returns the URL by which the server is reached through it */
export async function startHalfClosing(url: string): Promise<string> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const proxy = createServer({ allowHalfOpen: true }, (from) => {
    const to = connect({ port: Number(target.port), host: target.hostname, allowHalfOpen: true });
    for (const socket of [from, to]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    }
    from.pipe(to, { end: false });
    to.pipe(from, { end: false });
    to.on('end', () => from.end());
    for (const event of ['end', 'close']) from.on(event, () => to.end());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
    await once(proxy, 'close');
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${target.pathname}`;
}
