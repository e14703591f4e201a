/** The major of the SDK that a subject is to be of: `SDK=v1`, or v2. */
const isV1 = process.env.SDK === 'v1';

export const { McpServer } = isV1
  ? await import('@modelcontextprotocol/sdk/server/mcp.js')
  : await import('@modelcontextprotocol/server');

/** What both majors have in a handler's context. */
export const requestOf = (ctx) => (isV1 ? { id: ctx.requestId, signal: ctx.signal } : ctx.mcpReq);
