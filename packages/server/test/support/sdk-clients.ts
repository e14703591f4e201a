/** SDK clients of both majors over HTTP, in one shape. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { onTestFinished } from 'vitest';
import type { Era } from './peer.ts';

interface SdkClient {
  callTool(params: { name: string; arguments?: object }, options?: { signal?: AbortSignal }): Promise<unknown>;
}

async function v2(url: string, era: Era): Promise<SdkClient> {
  const versionNegotiation = { mode: era === 'legacy' ? ('legacy' as const) : { pin: '2026-07-28' } };
  const client = new Client({ name: 'client', version: '1' }, { versionNegotiation });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  onTestFinished(() => client.close());
  return client as unknown as SdkClient;
}

async function v1(url: string): Promise<SdkClient> {
  const client = new ClientV1({ name: 'client', version: '1' });
  await client.connect(new TransportV1(new URL(url)) as never);
  onTestFinished(() => client.close());
  return { callTool: (params, options) => client.callTool(params as never, undefined, options as never) };
}

type Connect = (url: string) => Promise<SdkClient>;

export const SDK_CLIENTS: readonly (readonly [name: string, era: Era, connect: Connect])[] = [
  ['a client of SDK v1', 'legacy', v1],
  ['a client of SDK v2, legacy', 'legacy', (url) => v2(url, 'legacy')],
  ['a client of SDK v2, modern', 'modern', (url) => v2(url, 'modern')],
];
