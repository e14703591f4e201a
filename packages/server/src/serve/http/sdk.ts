/**
 * What the majors of the official SDK have for HTTP, and of which of them a factory's servers are.
 */
import type { ProtectableServer, TransportShape } from '../../sdk/shapes.ts';
import { isV1, protocolOf } from '../../sdk/shapes.ts';
import { V1 } from '../stdio-v1.ts';
import { V2 } from '../stdio-v2.ts';
import { isInstalled } from '../which-sdk.ts';

export interface FetchOptions {
  /** What the author's authentication found; the handler's context has it. */
  readonly authInfo?: unknown;
  /** The body, when somebody has read it already. */
  readonly parsedBody?: unknown;
}

/** Streamable HTTP on the web's `Request` and `Response`: the same in both majors. */
interface WebTransport extends TransportShape {
  handleRequest(request: Request, options?: FetchOptions): Promise<Response>;
}

export type NewWebTransport = new (options: object) => WebTransport;

/** The one entry that speaks the modern era. */
interface Modern {
  isLegacyRequest(request: Request, parsedBody?: unknown): Promise<boolean>;
  createMcpHandler(factory: unknown, options: object): ModernHandler;
}

export interface ModernHandler {
  fetch(request: Request, options?: FetchOptions): Promise<Response>;
  close(): Promise<void>;
}

export interface HttpSdk {
  readonly Transport: NewWebTransport;
  /** Not in v1. */
  readonly modern: Modern | undefined;
}

const V1_TRANSPORT = `${V1}/server/webStandardStreamableHttp.js`;

/**
 * @param look makes one of the factory's servers, where both majors are installed; it is closed
 * @throws Error when no SDK is installed; what `look` rejects with
 */
export async function httpSdk(look: () => Promise<ProtectableServer>): Promise<HttpSdk> {
  const [hasV1, hasV2] = [isInstalled(V1_TRANSPORT), isInstalled(V2)];
  if (!hasV1 && !hasV2) {
    throw new Error(`estop: serving over HTTP needs an SDK of MCP: npm i ${V2} (2.x), or npm i ${V1} (1.25 or later)`);
  }
  if (!hasV1) return sdkV2();
  if (!hasV2) return sdkV1();
  const looked = await look();
  await looked.close();
  return isV1(protocolOf(looked)) ? sdkV1() : sdkV2();
}

async function sdkV1(): Promise<HttpSdk> {
  const sdk = (await import(V1_TRANSPORT)) as { WebStandardStreamableHTTPServerTransport: NewWebTransport };
  return { Transport: sdk.WebStandardStreamableHTTPServerTransport, modern: undefined };
}

/** @throws Error when v2 is not installed */
export async function sdkV2(): Promise<HttpSdk> {
  const sdk = (await import(V2)) as Modern & { WebStandardStreamableHTTPServerTransport: NewWebTransport };
  return { Transport: sdk.WebStandardStreamableHTTPServerTransport, modern: sdk };
}
