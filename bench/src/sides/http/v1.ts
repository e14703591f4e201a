/** Servers of SDK v1, each on a transport for HTTP. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { protector } from '../protection.ts';
import { ECHO, echo, echoInput, WAIT, wait } from '../tools.ts';
import type { Connect } from './listeners.ts';

const protect = await protector();

export const connect: Connect = async (options) => {
  const server = protect(new McpServer({ name: 'bench', version: '1.0.0' }));
  server.registerTool(ECHO.name, { inputSchema: echoInput }, echo);
  server.registerTool(WAIT.name, {}, ({ signal }) => wait(signal));
  const transport = new StreamableHTTPServerTransport(options);
  // The SDK's own types do not agree with themselves under exactOptionalPropertyTypes.
  await server.connect(transport as Transport);
  return transport;
};
