/**
 * The legacy era with sessions: a server and a transport for each, from its `initialize` to its DELETE.
 *
 * A session in which no exchange is open for long is closed: most clients never say goodbye.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/index.ts';
import { SESSION_HEADER } from '../../sdk/http/callers.ts';
import { whenOver } from './answers.ts';
import type { Connect, Connected, Legacy } from './legacy.ts';
import { noSessionId, noSuchSession } from './refusals.ts';
import type { FetchOptions } from './sdk.ts';

export class Sessions implements Legacy {
  readonly #connect: Connect;
  readonly #transport: (sessionId: string) => object;
  readonly #clock: Clock;
  readonly #idleMs: number;
  // Invariant: those that were initialized and whose transport is not closed.
  readonly #open = new Map<string, Session>();
  #isClosed = false;

  /** @param transport options of the SDK's transport for a session */
  constructor(connect: Connect, transport: (sessionId: string) => object, clock: Clock, idleMs: number) {
    this.#connect = connect;
    this.#transport = transport;
    this.#clock = clock;
    this.#idleMs = idleMs;
  }

  async fetch(request: Request, options: FetchOptions): Promise<Response> {
    const id = request.headers.get(SESSION_HEADER);
    if (id !== null) return (await this.#open.get(id)?.fetch(request, options)) ?? noSuchSession();
    if (request.method !== 'POST') return noSessionId();
    const session = new Session(this.#clock, this.#idleMs);
    await session.connect((transport) => this.#connect(request, options, transport), {
      ...this.#transport(session.id),
      sessionIdGenerator: () => session.id,
      onsessioninitialized: (sessionId: string) => void this.#open.set(sessionId, session),
      onclose: () => void this.#open.delete(session.id),
    });
    const response = await session.fetch(request, options);
    // It was no `initialize`, which the SDK has answered; or it came too late.
    if (this.#isClosed || this.#open.get(session.id) !== session) void session.close();
    return response;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#open.values()].map((session) => session.close()));
  }
}

interface Listening {
  readonly onclose: () => void;
  readonly [option: string]: unknown;
}

class Session {
  readonly id = randomUUID();
  readonly #clock: Clock;
  readonly #idleMs: number;
  #server: Connected | undefined;
  #exchanges = 0;
  #isClosed = false;
  // Invariant: set exactly while it is open and no exchange is.
  #timer: unknown;

  constructor(clock: Clock, idleMs: number) {
    this.#clock = clock;
    this.#idleMs = idleMs;
  }

  async connect(connect: (transport: Listening) => Promise<Connected>, transport: Listening): Promise<void> {
    const onclose = (): void => {
      this.#isClosed = true;
      this.#wake();
      transport.onclose();
    };
    this.#server = await connect({ ...transport, onclose });
  }

  async fetch(request: Request, options: FetchOptions): Promise<Response> {
    this.#wake();
    this.#exchanges += 1;
    const over = (): void => {
      this.#exchanges -= 1;
      if (this.#exchanges === 0) this.#rest();
    };
    try {
      return whenOver(await (this.#server as Connected).handle(request, options), over);
    } catch (error) {
      over();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  #wake(): void {
    if (this.#timer !== undefined) this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }

  #rest(): void {
    if (this.#isClosed || this.#idleMs === Infinity) return;
    this.#timer = this.#clock.unref(this.#clock.setTimer(() => void this.close(), this.#idleMs));
  }
}
