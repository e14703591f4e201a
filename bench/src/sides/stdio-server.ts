/** What the sides over stdio call, served in both cases by what a server's author would use. Arguments: bare | protected. */
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { loadEstop, protection } from './protection.ts';
import { addEcho, addWait } from './tools.ts';

const factory = (): McpServer => {
  const server = new McpServer({ name: 'bench', version: '1.0.0' });
  addEcho(server);
  addWait(server);
  return server;
};

if (protection() === 'bare') serveStdio(factory);
else await (await loadEstop()).serveStdio(factory);
