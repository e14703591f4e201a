/** Servers of SDK v2, each on a transport for HTTP, or made by a handler for each request. */
import {
  type NodeIncomingMessageLike,
  NodeStreamableHTTPServerTransport,
  toNodeHandler,
} from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { loadEstop, protection, protector } from '../protection.ts';
import { addEcho, addWait } from '../tools.ts';
import type { Connect, Listener } from './listeners.ts';

// Of a side with a handler nothing but that handler is estop's.
const protect = await protector();

function newServer(): McpServer {
  const server = new McpServer({ name: 'bench', version: '1.0.0' });
  addEcho(server);
  addWait(server);
  return server;
}

export const connect: Connect = async (options) => {
  const transport = new NodeStreamableHTTPServerTransport(options);
  await protect(newServer()).connect(transport);
  return transport;
};

/** Both eras, told apart by the request: with the SDK's entry, or with estop's in its place. */
export const handler: Listener = protection() === 'bare' ? bareHandler() : (await loadEstop()).nodeHandler(newServer);

function bareHandler(): Listener {
  const serve = toNodeHandler(createMcpHandler(newServer));
  return (request, response) => serve(request as NodeIncomingMessageLike, response);
}
