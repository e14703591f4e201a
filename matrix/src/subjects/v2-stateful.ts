/** SDK v2 on `node:http` with sessions of the legacy era: a server and a transport for each, in a map by its id. */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import { McpServer } from '@modelcontextprotocol/server';
import { slowMarker, slowMarkerTool } from 'estop/kit';
import { estop, port } from './asked.ts';

const getServer = (): McpServer => {
  const server = new McpServer({ name: 'v2-stateful', version: '1.0.0' });
  server.registerTool(slowMarkerTool.name, slowMarkerTool.config, slowMarker({ onSignal: 'forward' }));
  return server;
};

const transports = new Map<string, NodeStreamableHTTPServerTransport>();

async function open(): Promise<NodeStreamableHTTPServerTransport> {
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => void transports.set(id, transport),
  });
  transport.onclose = () => void transports.delete(transport.sessionId ?? '');
  const server = getServer();
  estop?.protect(server);
  await server.connect(transport);
  return transport;
}

createServer(async (req, res) => {
  const id = req.headers['mcp-session-id'];
  const transport = id === undefined ? await open() : transports.get(String(id));
  if (transport) await transport.handleRequest(req, res);
  else res.writeHead(404).end();
}).listen(port, '127.0.0.1');
