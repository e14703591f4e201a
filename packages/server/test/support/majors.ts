/**
 * Both majors of the SDK, for tests that say the same of either: their servers, typed as those of v2, and what their
 * contexts can do, in v2's words.
 */
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { McpServer, type ServerContext } from '@modelcontextprotocol/server';
import * as z from 'zod';

export type Major = 'v1' | 'v2';
export const MAJORS: readonly Major[] = ['v2', 'v1'];

export const MCP_SERVERS: Readonly<Record<Major, typeof McpServer>> = {
  v2: McpServer,
  v1: McpServerV1 as unknown as typeof McpServer,
};

type Words = Pick<
  ServerContext['mcpReq'],
  'id' | '_meta' | 'signal' | 'notify' | 'log' | 'send' | 'elicitInput' | 'requestSampling'
>;

/** What both majors of a handler's context have; v1's has neither a log nor questions, and sends them as they are. */
export function wordsOf(ctx: unknown): Words {
  const { mcpReq } = ctx as Partial<ServerContext>;
  if (mcpReq !== undefined) return mcpReq;
  const extra = ctx as Extra;
  const send = (request: object, ...rest: unknown[]): Promise<unknown> => extra.sendRequest(request, ANY, rest.at(-1));
  return {
    id: extra.requestId,
    _meta: extra._meta,
    // Made when it is looked at.
    get signal() {
      return extra.signal;
    },
    notify: (notification: object) => extra.sendNotification(notification),
    log: (level: string, data: unknown, logger?: string) =>
      extra.sendNotification({ method: 'notifications/message', params: { level, data, ...(logger && { logger }) } }),
    send,
    elicitInput: (params: object, options?: object) => send({ method: 'elicitation/create', params }, options),
    requestSampling: (params: object, options?: object) => send({ method: 'sampling/createMessage', params }, options),
  } as Words;
}

interface Extra {
  readonly requestId: string | number;
  readonly _meta?: Words['_meta'];
  readonly signal: AbortSignal;
  sendNotification(notification: object): Promise<void>;
  sendRequest(request: object, schema: unknown, options?: unknown): Promise<unknown>;
}

const ANY = z.looseObject({});
