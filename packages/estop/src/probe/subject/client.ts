/**
 * The client under the probe: what the runner needs of an MCP client, and the official SDK v2 as one.
 *
 * A call of it never times out within a run: it ends when the server answers or the caller aborts. Does not hide how a
 * client rejects; `settlementOf` reads it, because no SDK rejects an abort with an `AbortError`.
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Client, ProtocolError, SdkError, SdkErrorCode, type Transport } from '@modelcontextprotocol/client';
import type { Era } from '../events.ts';
import type { SubjectTransport } from './subject.ts';

export interface ProbeClient {
  /** With its version. */
  readonly name: string;
  readonly era: Era;
  readonly revision: string;
  /** The server's name and version, as it says. */
  readonly server: string;
  listTools(timeoutMs: number): Promise<string[]>;
  call(tool: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<unknown>;
  /** Whether a request of another kind is answered within `timeoutMs`: a round trip, never from a cache. */
  answers(timeoutMs: number): Promise<boolean>;
  settlementOf(error: unknown, signal: AbortSignal): 'rejected-as-aborted' | 'rejected';
  close(): Promise<void>;
}

/** Rejects when the server does not offer the era, or did not answer within `timeoutMs`. */
export type ConnectClient = (transport: SubjectTransport, era: Era, timeoutMs: number) => Promise<ProbeClient>;

const MODERN = '2026-07-28';
const CALL_TIMEOUT_MS = 10 * 60_000;
const MAX_PAGES = 64;

export const connectSdkV2: ConnectClient = async (transport, era, timeoutMs) => {
  const client = new Client(
    { name: 'estop-probe', version: '1' },
    { versionNegotiation: { mode: era === 'legacy' ? 'legacy' : { pin: MODERN } } },
  );
  await client.connect(transport as Transport, { timeout: timeoutMs });

  // `request`, not `listTools`: that one may answer from its cache, or by itself for a server without tools.
  const listPage = (timeout: number, cursor?: string) =>
    client.request({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } }, { timeout });

  const server = client.getServerVersion();
  return {
    name: `@modelcontextprotocol/client ${sdkVersion()}`,
    era,
    revision: client.getNegotiatedProtocolVersion() ?? 'unknown',
    server: server ? `${server.name} ${server.version}` : 'unknown',

    async listTools(timeout) {
      const names: string[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < MAX_PAGES; page++) {
        const { tools, nextCursor } = await listPage(timeout, cursor);
        names.push(...tools.map((tool) => tool.name));
        cursor = nextCursor;
        if (cursor === undefined) break;
      }
      return names;
    },

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

/** The package does not export its `package.json`, but the file lies above what it does export. */
function sdkVersion(): string {
  const require = createRequire(import.meta.url);
  const entry = require.resolve('@modelcontextprotocol/client');
  return require(join(dirname(entry), '..', 'package.json')).version;
}
