/** What a `node:http` server calls, as the SDK's documentation has it. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

export type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

interface TransportOptions {
  /** Without one there are no sessions. */
  readonly sessionIdGenerator?: () => string;
  readonly enableJsonResponse?: boolean;
  readonly onsessioninitialized?: (id: string) => void;
}

interface HttpTransport {
  handleRequest: Listener;
  close(): Promise<void>;
}

/** Makes a server, and connects it to a transport of its own. */
export type Connect = (options: TransportOptions) => Promise<HttpTransport>;

/** A server for each session. */
export function stateful(connect: Connect, enableJsonResponse = false): Listener {
  const sessions = new Map<string, HttpTransport>();
  const open = async (): Promise<HttpTransport> => {
    const transport = await connect({
      sessionIdGenerator: randomUUID,
      enableJsonResponse,
      onsessioninitialized: (id) => sessions.set(id, transport),
    });
    return transport;
  };
  return async (request, response) => {
    const transport = sessions.get(String(request.headers['mcp-session-id'])) ?? (await open());
    await transport.handleRequest(request, response);
  };
}

/** A server for each request. */
export function stateless(connect: Connect): Listener {
  return async (request, response) => {
    const transport = await connect({});
    response.on('close', () => transport.close());
    await transport.handleRequest(request, response);
  };
}
