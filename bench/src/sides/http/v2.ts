/** Servers of SDK v2, each on a transport for HTTP, or made by a handler for each request. */
import {
  type NodeIncomingMessageLike,
  NodeStreamableHTTPServerTransport,
  toNodeHandler,
} from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { protector } from '../protection.ts';
import { addEcho, addWait } from '../tools.ts';
import type { Connect, Listener } from './listeners.ts';

const protect = await protector();

function newServer(): McpServer {
  const server = protect(new McpServer({ name: 'bench', version: '1.0.0' }));
  addEcho(server);
  addWait(server);
  return server;
}

export const connect: Connect = async (options) => {
  const transport = new NodeStreamableHTTPServerTransport(options);
  await newServer().connect(transport);
  return transport;
};

const serve = toNodeHandler(createMcpHandler(newServer));

/** Both eras, told apart by the request. */
export const handler: Listener = (request, response) => serve(request as NodeIncomingMessageLike, response);
