/**
 * A door on a port of this host, and its end.
 *
 * Answers only requests for its own names, so that no website reaches a server on its visitor's machine. At SIGTERM and
 * SIGINT it is closed as `close()` does, and then the process ends by that signal; a second one ends it at once.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { checkCount, show, systemClock } from '../../core/index.ts';
import type { ProtectContext } from '../../sdk/context.ts';
import { READ_MS, stopOnSignals } from '../signals.ts';
import { V2 } from '../stdio-v2.ts';
import { Answers } from './answers.ts';
import { Door, type FetchHandler } from './door.ts';
import { serveNode } from './node.ts';
import { overNode } from './node-handler.ts';
import type { HttpHandlerOptions, HttpServerFactory } from './options.ts';
import { forbidden, notFound } from './refusals.ts';
import { sdkV2 } from './sdk.ts';

export interface ListenOptions extends HttpHandlerOptions {
  /** 0: any that is free. */
  readonly port: number;
  /** The address that is listened on. Default `127.0.0.1`: from this machine alone. */
  readonly host?: string | undefined;
  /** Default `/mcp`. */
  readonly path?: string | undefined;
  /** Host names, without ports, under which clients may ask. Default: `localhost`, `127.0.0.1` and `[::1]`. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Host names, without scheme and port, of the websites that may ask. Default: the same. */
  readonly allowedOrigins?: readonly string[] | undefined;
}

export interface HttpServer extends Pick<FetchHandler, 'close' | 'destroy'> {
  readonly url: string;
  readonly port: number;
  /** Resolves when it has been closed, and no connection is open. */
  readonly closed: Promise<void>;
}

/** What v2 has against DNS rebinding. */
interface Guards {
  validateHostHeader(header: string | undefined, allowed: readonly string[]): Verdict;
  validateOriginHeader(header: string | undefined, allowed: readonly string[]): Verdict;
  localhostAllowedHostnames(): string[];
  localhostAllowedOrigins(): string[];
}

type Verdict = { readonly ok: true } | { readonly ok: false; readonly message: string };

const WHERE = 'serve()';

/** @throws Error when the port cannot be had, or SDK v2 is not installed; TypeError or RangeError for a bad option */
export async function listen(
  factory: HttpServerFactory,
  options: ListenOptions,
  context: ProtectContext,
): Promise<HttpServer> {
  const { port, host = '127.0.0.1', path = '/mcp', allowedHosts, allowedOrigins } = options;
  checkPlace(port, host, path);
  const sdk = await sdkV2();
  const guards = (await import(V2)) as Guards;
  const hosts = allowedHosts ?? guards.localhostAllowedHostnames();
  const origins = allowedOrigins ?? guards.localhostAllowedOrigins();
  const handler = overNode(new Door(factory, options, context, WHERE, sdk), context);

  const answers = new Answers();
  const server = createServer((request, response) => {
    response.once('close', answers.begin());
    const refused = [
      guards.validateHostHeader(request.headers.host, hosts),
      guards.validateOriginHeader(request.headers.origin, origins),
    ].find((verdict) => !verdict.ok);
    const isHere = request.url?.split('?')[0] === path;
    if (refused === undefined && isHere) return void handler(request, response);
    const refusal = refused?.ok === false ? forbidden(refused.message) : notFound();
    return void serveNode(async () => refusal, request, response, null);
  });
  await bind(server, port, host);
  const { port: bound, family } = server.address() as AddressInfo;

  let ended: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    await handler.destroy();
    ended ??= endOf(server, answers).finally(takeBack);
    await ended;
  };
  const close = async (): Promise<void> => {
    await context.engine.drain();
    await end();
  };
  const takeBack = stopOnSignals(close);
  const closed = once(server, 'close').then(() => {});
  const name = family === 'IPv6' ? `[${host}]` : host;
  return { url: `http://${name}:${bound}${path}`, port: bound, closed, close, destroy: end };
}

function checkPlace(port: unknown, host: unknown, path: unknown): void {
  checkCount(port, `${WHERE}: port`, 0);
  if (typeof host !== 'string' || host === '') {
    throw new TypeError(`estop: ${WHERE}: host must be a non-empty string, got ${show(host)}`);
  }
  if (typeof path !== 'string' || !path.startsWith('/')) {
    throw new TypeError(`estop: ${WHERE}: path must be a string that begins with "/", got ${show(path)}`);
  }
}

async function bind(server: Server, port: number, host: string): Promise<void> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const isTaken = code === 'EADDRINUSE';
    const why = isTaken ? 'is taken: choose another, or 0 for any that is free' : `cannot be had: ${message}`;
    throw new Error(`estop: ${WHERE}: port ${port} of ${host} ${why}`, { cause });
  }
}

/** A client that reads has its answers; a connection on which nothing was asked is not waited for. */
async function endOf(server: Server, answers: Answers): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  await answers.none(systemClock, READ_MS);
  server.closeAllConnections();
  await closed;
}
