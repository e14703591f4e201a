/** The official SDK v2's client, in either era, over stdio or Streamable HTTP. */
import {
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { CALL_TIMEOUT_MS, type ConnectClient, namesOnAll, PROBE, versionOf } from './client.ts';

const PACKAGE = '@modelcontextprotocol/client';
const MODERN = '2026-07-28';

export const connectSdkV2: ConnectClient = async (endpoint, era, timeoutMs) => {
  const client = new Client(PROBE, { versionNegotiation: { mode: era === 'legacy' ? 'legacy' : { pin: MODERN } } });
  const transport = endpoint instanceof URL ? new StreamableHTTPClientTransport(endpoint) : endpoint;
  await client.connect(transport as Transport, { timeout: timeoutMs });

  // `request`, not `listTools`: that one may answer from its cache, or by itself for a server without tools.
  const listPage = (timeout: number, cursor?: string) =>
    client.request({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } }, { timeout });

  const server = client.getServerVersion();
  return {
    name: `${PACKAGE} ${versionOf(PACKAGE, PACKAGE)}`,
    era,
    revision: client.getNegotiatedProtocolVersion() ?? 'unknown',
    server: server ? `${server.name} ${server.version}` : 'unknown',

    listTools: (timeout) => namesOnAll((cursor) => listPage(timeout, cursor)),

    // With a progress token, so that a server which reports progress has something to report it to.
    call: (name, args, signal) =>
      client.callTool({ name, arguments: { ...args } }, { signal, timeout: CALL_TIMEOUT_MS, onprogress: () => {} }),

    answers: (timeout) =>
      listPage(timeout).then(
        () => true,
        // A refusal is an answer, and so is one that the client does not understand.
        (error: unknown) => error instanceof ProtocolError || isSdkError(error, SdkErrorCode.InvalidResult),
      ),

    settlementOf(error, signal) {
      return signal.aborted && isSdkError(error, SdkErrorCode.RequestTimeout) ? 'rejected-as-aborted' : 'rejected';
    },

    close: () => client.close(),
  };
};

function isSdkError(error: unknown, code: SdkErrorCode): boolean {
  return error instanceof SdkError && error.code === code;
}
