/**
 * The client under the probe: what the runner needs of an MCP client. The official SDKs as one: `sdk-v1.ts`, `sdk-v2.ts`.
 *
 * A call of it never times out within a run: it ends when the server answers or the caller aborts. Does not hide how a
 * client rejects; `settlementOf` reads it, because no SDK rejects an abort with an `AbortError`.
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Era } from '../events.ts';
import type { Endpoint } from './subject.ts';

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
export type ConnectClient = (endpoint: Endpoint, era: Era, timeoutMs: number) => Promise<ProbeClient>;

/** As the client tells the server who it is. */
export const PROBE = { name: 'estop-probe', version: '1' };
/** Longer than any run holds a call. */
export const CALL_TIMEOUT_MS = 10 * 60_000;
const MAX_PAGES = 64;

interface Page {
  readonly tools: readonly { readonly name: string }[];
  readonly nextCursor?: string | undefined;
}

/** The names on all pages, within a bound that a server cannot stretch. */
export async function namesOnAll(listPage: (cursor: string | undefined) => Promise<Page>): Promise<string[]> {
  const names: string[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { tools, nextCursor } = await listPage(cursor);
    names.push(...tools.map((tool) => tool.name));
    cursor = nextCursor;
    if (cursor === undefined) break;
  }
  return names;
}

/** The version of an installed package, whose `package.json` lies above what it exports. */
export function versionOf(name: string, entry: string): string {
  const require = createRequire(import.meta.url);
  for (let folder = dirname(require.resolve(entry)); folder !== dirname(folder); folder = dirname(folder)) {
    try {
      const found = require(join(folder, 'package.json'));
      if (found.name === name) return found.version;
    } catch {
      // Further up.
    }
  }
  return 'unknown';
}
