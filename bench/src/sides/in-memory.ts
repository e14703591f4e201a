/** A client and a server in one process, connected by the SDK's own linked pair. */
import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport, McpServer } from '@modelcontextprotocol/server';
import { protector } from './protection.ts';

/** With the side's protection, if it has one. */
export async function newServer(): Promise<McpServer> {
  const protect = await protector();
  return protect(new McpServer({ name: 'bench', version: '1.0.0' }));
}

export async function connect(server: McpServer): Promise<Client> {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  const [near, far] = InMemoryTransport.createLinkedPair();
  await server.connect(far);
  await client.connect(near);
  return client;
}
