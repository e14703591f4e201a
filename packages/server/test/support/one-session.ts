/** One session on the web's transport of either major, without a socket in between: an order is the order. */
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { WebStandardStreamableHTTPServerTransport as WebTransportV1 } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  McpServer as McpServerV2,
  WebStandardStreamableHTTPServerTransport as WebTransportV2,
} from '@modelcontextprotocol/server';
import type { Frame } from './peer.ts';

interface WebTransport {
  handleRequest(request: Request): Promise<Response>;
  close(): Promise<void>;
}

/** A server of v1 is registered with and connected like one of v2. */
type Connect = (options: object) => [McpServerV2, WebTransport];

const INFO = { name: 'one session', version: '1' };

export const WEB_MAJORS: readonly [string, Connect][] = [
  [
    'v1',
    (options) => [new McpServerV1(INFO) as unknown as McpServerV2, new WebTransportV1({ ...ONE, ...options } as never)],
  ],
  ['v2', (options) => [new McpServerV2(INFO), new WebTransportV2({ ...ONE, ...options })]],
];

const ID = 'one';
const ONE = { sessionIdGenerator: () => ID };

/** @param init besides what every POST of the session has */
export function postOf(init: RequestInit): Request {
  const headers = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'mcp-protocol-version': '2025-11-25',
    'mcp-session-id': ID,
  };
  return new Request('http://localhost/mcp', { method: 'POST', headers, ...init });
}

export const INITIALIZE = {
  jsonrpc: '2.0',
  id: 'initialize',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: INFO },
};

export function holdFrame(id: string | number): Frame {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'hold', arguments: {} } };
}
