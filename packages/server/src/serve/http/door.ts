/**
 * Serves a factory's servers over HTTP, protected: of SDK v2 in both eras, of v1 in the legacy era.
 *
 * Does not look at Host and Origin, and does not authenticate: that is for whoever stands before the door.
 */
import type { ProtectContext } from '../../sdk/context.ts';
import { READ_MS } from '../signals.ts';
import { Answers, whenOver } from './answers.ts';
import { Eras } from './eras.ts';
import { type Make, making } from './make.ts';
import { endsMinted } from './minted.ts';
import { checkHttpOptions, type HttpHandlerOptions, type HttpServerFactory } from './options.ts';
import { internalError, isShut } from './refusals.ts';
import { type FetchOptions, type HttpSdk, httpSdk } from './sdk.ts';

export interface FetchHandler {
  /** Answers a request. Never rejects. */
  fetch(request: Request, options?: FetchOptions): Promise<Response>;
  /**
   * Shuts the server down: calls that come from now on are refused as `shutdown`, those in flight may end by themselves
   * for `drainMs`, and the rest is stopped. Cancels, pings and DELETEs pass meanwhile. Then all sessions and streams are
   * closed, and what still comes is answered with 503.
   *
   * The calls are those of the whole engine, whatever they came over. Does not end a handler that does not listen.
   *
   * @returns when all that is done, which is bounded
   */
  close(): Promise<void>;
  /** The same without the wait; also while `close()` waits. */
  destroy(): Promise<void>;
}

export class Door implements FetchHandler {
  readonly #make: Make;
  readonly #options: HttpHandlerOptions;
  readonly #context: ProtectContext;
  readonly #given: HttpSdk | undefined;
  readonly #answers = new Answers();
  #eras: Promise<Eras> | undefined;
  #isShut = false;
  #destroyed: Promise<void> | undefined;

  /**
   * @param where names the place for errors: `fetchHandler()`
   * @param given of which major the factory's servers are, where that is known; otherwise it is found out
   * @throws TypeError or RangeError for an option that is none of its kind, naming it
   */
  constructor(
    factory: HttpServerFactory,
    options: HttpHandlerOptions,
    context: ProtectContext,
    where: string,
    given?: HttpSdk,
  ) {
    checkHttpOptions(options, where);
    this.#make = making(factory, context);
    this.#options = options;
    this.#context = context;
    this.#given = given;
  }

  fetch = async (request: Request, options: FetchOptions = {}): Promise<Response> => {
    if (this.#isShut) return isShut();
    const { exchanges } = this.#context.http;
    const exchange = exchanges.ofWeb(request);
    exchanges.join(request, exchange);
    // A subscription has no answer; it ends when it is closed.
    const isAwaited = request.method === 'POST' && request.headers.get('mcp-method') !== 'subscriptions/listen';
    const over = isAwaited ? this.#answers.begin() : () => {};
    try {
      if (endsMinted(exchange, options.authInfo, this.#context, this.#options.onerror)) return new Response();
      const eras = await this.#ready(request, options);
      return whenOver(await eras.fetch(request, options, exchange), over);
    } catch (error) {
      over();
      if (this.#isShut) return isShut();
      this.#options.onerror?.(error instanceof Error ? error : new Error(String(error)));
      return internalError();
    }
  };

  close = async (): Promise<void> => {
    await this.#context.engine.drain();
    await this.destroy();
  };

  destroy = (): Promise<void> => {
    this.#destroyed ??= this.#destroy();
    return this.#destroyed;
  };

  async #destroy(): Promise<void> {
    const { engine } = this.#context;
    await engine.close();
    // The answers of what was stopped are promises of the SDK, some turns behind.
    await this.#answers.none(engine.clock, READ_MS);
    this.#isShut = true;
    const eras = await this.#eras?.catch(() => undefined);
    await eras?.close();
  }

  /** What could not be loaded is tried again by the next request. */
  #ready(request: Request, { authInfo }: FetchOptions): Promise<Eras> {
    this.#eras ??= this.#load(request, authInfo).catch((error: unknown) => {
      this.#eras = undefined;
      throw error;
    });
    return this.#eras;
  }

  async #load(request: Request, authInfo: unknown): Promise<Eras> {
    const sdk = this.#given ?? (await httpSdk(() => this.#make('legacy', request, authInfo)));
    return new Eras(sdk, this.#make, this.#options, this.#context);
  }
}
