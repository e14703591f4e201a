/**
 * SDK v2 over stdio, by its own entry: it asks the factory for a server when a client has shown its era.
 */
import type { TransportShape } from '../sdk/shapes.ts';
import type { Entry } from './entry.ts';

export const V2 = '@modelcontextprotocol/server';

interface SdkStdio {
  readonly StdioServerTransport: new () => TransportShape;
  serveStdio(factory: unknown, options: object): { close(): Promise<void> };
}

/** @throws Error when v2 is not installed */
export async function entryV2(): Promise<Entry> {
  const sdk = (await import(`${V2}/stdio`)) as SdkStdio;
  return {
    newTransport: () => new sdk.StdioServerTransport(),
    async serve(factory, transport, { legacy, onerror }) {
      return sdk.serveStdio(factory, { transport, ...(legacy && { legacy }), ...(onerror && { onerror }) });
    },
  };
}
