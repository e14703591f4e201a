/**
 * The official SDK v1's client, over stdio or Streamable HTTP. It speaks the legacy era only.
 *
 * The package is an optional peer, loaded when it is asked for: a probe with the v2 client does not need it.
 */
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ProbeFailure } from '../result.ts';
import { CALL_TIMEOUT_MS, type ConnectClient, namesOnAll, PROBE, versionOf } from './client.ts';

const PACKAGE = '@modelcontextprotocol/sdk';

export const connectSdkV1: ConnectClient = async (endpoint, era, timeoutMs) => {
  if (era !== 'legacy') throw new ProbeFailure('estop probe: the client of SDK v1 speaks the legacy era only');
  const { Client, StreamableHTTPClientTransport, McpError, ErrorCode, ListToolsResultSchema } = await loadSdk();
  const client = new Client(PROBE);
  const transport = (endpoint instanceof URL ? new StreamableHTTPClientTransport(endpoint) : endpoint) as Transport;
  const revision = revisionTold(transport);
  await client.connect(transport, { timeout: timeoutMs });

  // `request`, not `listTools`: that one refuses by itself for a server without tools.
  const listPage = (timeout: number, cursor?: string) =>
    client.request({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } }, ListToolsResultSchema, {
      timeout,
    });

  const isMcpError = (error: unknown, ...codes: number[]): boolean =>
    error instanceof McpError && codes.includes(error.code);
  const server = client.getServerVersion();
  return {
    name: `${PACKAGE} ${versionOf(PACKAGE, `${PACKAGE}/client/index.js`)}`,
    era,
    revision: revision(),
    server: server ? `${server.name} ${server.version}` : 'unknown',

    listTools: (timeout) => namesOnAll((cursor) => listPage(timeout, cursor)),

    // With a progress token, so that a server which reports progress has something to report it to.
    call: (name, args, signal) =>
      client.callTool({ name, arguments: { ...args } }, undefined, {
        signal,
        timeout: CALL_TIMEOUT_MS,
        onprogress: () => {},
      }),

    answers: (timeout) =>
      listPage(timeout).then(
        () => true,
        // A refusal is an answer, and so is one that the client does not understand; these two it makes by itself.
        (error: unknown) =>
          error instanceof McpError
            ? !isMcpError(error, ErrorCode.RequestTimeout, ErrorCode.ConnectionClosed)
            : isUnreadable(error),
      ),

    settlementOf(error, signal) {
      return signal.aborted && isMcpError(error, ErrorCode.RequestTimeout) ? 'rejected-as-aborted' : 'rejected';
    },

    close: () => client.close(),
  };
};

/** The client keeps to itself which revision was negotiated, and tells its transport. */
function revisionTold(transport: Transport): () => string {
  let told = 'unknown';
  const tell = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (revision) => {
    told = revision;
    tell?.(revision);
  };
  return () => told;
}

/** The schema library's error: the answer came, and did not fit. */
function isUnreadable(error: unknown): boolean {
  return error instanceof Error && Array.isArray((error as { issues?: unknown }).issues);
}

async function loadSdk() {
  try {
    const [client, http, types] = await Promise.all([
      import('@modelcontextprotocol/sdk/client/index.js'),
      import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ]);
    return { ...client, ...http, ...types };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new ProbeFailure(`estop probe: the client of SDK v1 is not installed; npm i -D ${PACKAGE}`);
  }
}
