/**
 * SDK v1 over stdio: one server for the one connection there is, in the legacy era.
 *
 * A client that tries the modern era first gets the SDK's own refusal (method not found), and may fall back.
 */
import { protocolOf, type TransportShape } from '../sdk/shapes.ts';
import type { Entry } from './entry.ts';

export const V1 = '@modelcontextprotocol/sdk';

interface SdkStdio {
  readonly StdioServerTransport: new () => TransportShape;
}

/** @throws Error when v1 is not installed */
export async function entryV1(): Promise<Entry> {
  const sdk = (await import(`${V1}/server/stdio.js`)) as SdkStdio;
  return {
    newTransport: () => endingWithItsPipes(new sdk.StdioServerTransport()),
    async serve(factory, transport, { onerror }) {
      const server = protocolOf(await factory({ era: 'legacy' }));
      if (onerror) hear(server, onerror);
      await server.connect(transport);
      return server;
    },
  };
}

/** v1's own transport notices neither that stdin has ended, nor that nobody reads stdout, of which the process would die. */
function endingWithItsPipes(transport: TransportShape): TransportShape {
  const { stdin, stdout } = process;
  const close = transport.close.bind(transport);
  const end = (): void => void transport.close();
  let isClosed = false;
  transport.close = async () => {
    if (isClosed) return;
    isClosed = true;
    for (const event of ENDS) stdin.off(event, end);
    await close();
  };
  for (const event of ENDS) stdin.on(event, end);
  // Stays: what was written before the end may fail after it.
  stdout.on('error', (error) => {
    if (!isClosed) transport.onerror?.(error);
    end();
  });
  return transport;
}

const ENDS = ['end', 'close'] as const;

/** As does the author's own listener, if there is one. */
function hear(server: { onerror?: TransportShape['onerror'] }, onerror: (error: Error) => void): void {
  const own = server.onerror;
  server.onerror = (error) => {
    own?.(error);
    onerror(error);
  };
}
