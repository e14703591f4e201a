/**
 * The legacy era without sessions: a server and a transport for each POST, closed when its answer is over.
 *
 * A client that hangs up is no cancel here: its call runs on for the grace, and then its server is closed.
 */
import type { ProtectContext } from '../../sdk/context.ts';
import type { Exchange } from '../../sdk/http/exchange.ts';
import { whenOver } from './answers.ts';
import { methodNotAllowed } from './refusals.ts';
import type { FetchOptions } from './sdk.ts';

/** A server of the factory's, connected to a transport of its own. */
export interface Connected {
  handle(request: Request, options: FetchOptions): Promise<Response>;
  close(): Promise<void>;
}

/** @param transport options of the SDK's transport, and who hears that it is closed */
export type Connect = (
  request: Request,
  options: FetchOptions,
  transport: { readonly onclose?: () => void },
) => Promise<Connected>;

/** One way to serve what is of the legacy era. */
export interface Legacy {
  fetch(request: Request, options: FetchOptions, exchange: Exchange): Promise<Response>;
  close(): Promise<void>;
}

export class EachPost implements Legacy {
  readonly #connect: Connect;
  readonly #context: ProtectContext;
  readonly #open = new Set<Connected>();

  constructor(connect: Connect, context: ProtectContext) {
    this.#connect = connect;
    this.#context = context;
  }

  async fetch(request: Request, options: FetchOptions, exchange: Exchange): Promise<Response> {
    if (request.method !== 'POST') return methodNotAllowed();
    const server = await this.#connect(request, options, {});
    this.#open.add(server);
    const stopWaiting = this.#closeAfterHangUp(server, exchange);
    const over = (isWhole: boolean): void => {
      if (!isWhole) return;
      stopWaiting();
      void this.#close(server);
    };
    try {
      return whenOver(await server.handle(request, options), over);
    } catch (error) {
      over(true);
      throw error;
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((server) => this.#close(server)));
  }

  /** What is written after a hang-up reaches nobody, so nothing else says that the answer is over. */
  #closeAfterHangUp(server: Connected, exchange: Exchange): () => void {
    const { clock } = this.#context.engine;
    const { disconnectGraceMs } = this.#context.http.callers;
    let timer: unknown;
    const unlisten = exchange.onGone(() => {
      // Its call runs to its end, of which nobody will hear; then nothing holds its server.
      if (disconnectGraceMs === Infinity) return void this.#open.delete(server);
      timer = clock.unref(clock.setTimer(() => void this.#close(server), disconnectGraceMs));
    });
    return () => {
      unlisten();
      if (timer !== undefined) clock.clearTimer(timer);
    };
  }

  async #close(server: Connected): Promise<void> {
    if (this.#open.delete(server)) await server.close();
  }
}
