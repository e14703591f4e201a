/**
 * Whose call: from what a message's HTTP request shows, as far as the operator said that it may be believed.
 *
 * Does not authenticate: `authInfo` is what the author's own middleware made of a token.
 */
import { randomUUID } from 'node:crypto';
import {
  checkFlag,
  checkMs,
  clientAddress,
  scopeOf,
  show,
  type TrustedProxies,
  trustedProxies,
} from '../../core/index.ts';
import type { Exchange, HttpRequest } from './exchange.ts';

export interface HttpOptions {
  /**
   * Who the caller is, from what the author's authentication found: a user's id, say. Never an OAuth client's id alone:
   * that is the application, which its users share. `undefined`: nobody in particular. Without this function a session
   * stands for itself, and callers without one are told apart by connection or request.
   */
  readonly principal?: ((authInfo: unknown, request: HttpRequest) => string | undefined) | undefined;
  /** Whether callers without session and principal are told apart by their address. Default: no, clients may share one. */
  readonly addresses?: boolean | undefined;
  /** Addresses and CIDRs of the proxies whose X-Forwarded-For is believed. Default: none. */
  readonly trustedProxies?: readonly string[] | undefined;
  /**
   * Whether a legacy client of a server without sessions is given a session id with the answer to its `initialize`, so
   * that its cancel finds its call. Nothing is stored for it. Default: yes.
   */
  readonly mintSessions?: boolean | undefined;
  /**
   * ms that a legacy call runs on after its client hung up, when the answer cannot be fetched later; then it is stopped
   * as `disconnected`. Default 5 000; `Infinity`: it runs to its end.
   */
  readonly disconnectGraceMs?: number | undefined;
}

/** A session of our own: told from a transport's by its name. */
const MINTED = 'estop-';
export const SESSION_HEADER = 'mcp-session-id';

const DEFAULT_DISCONNECT_GRACE_MS = 5_000;

export class Callers {
  /** Whether a caller without a session is told from others. */
  readonly look: boolean;
  readonly mintsSessions: boolean;
  readonly disconnectGraceMs: number;
  readonly #principal: HttpOptions['principal'];
  readonly #addresses: boolean;
  readonly #proxies: TrustedProxies | undefined;

  /** @throws TypeError or RangeError for an option that is none of its kind, naming it */
  constructor(options: HttpOptions = {}) {
    const { principal, addresses = false, trustedProxies: proxies, mintSessions = true } = options;
    const { disconnectGraceMs = DEFAULT_DISCONNECT_GRACE_MS } = options;
    if (principal !== undefined && typeof principal !== 'function') {
      throw new TypeError(`estop: http.principal must be a function, got ${show(principal)}`);
    }
    this.#principal = principal;
    this.#addresses = checkFlag(addresses, 'http.addresses');
    this.#proxies = proxies === undefined ? undefined : trustedProxies(proxies);
    this.look = principal !== undefined || this.#addresses;
    this.mintsSessions = checkFlag(mintSessions, 'http.mintSessions');
    this.disconnectGraceMs = checkMs(disconnectGraceMs, 'http.disconnectGraceMs');
  }

  /**
   * @param sessionId that of the transport, else that of the request; a modern request has none
   * @param onerror hears what the operator's function threw: such a caller shares nothing with anybody
   * @returns `undefined` when the request shows nothing
   */
  scopeOf(
    exchange: Exchange,
    sessionId: string | undefined,
    authInfo: unknown,
    onerror: ((error: Error) => void) | undefined,
  ): string | undefined {
    let who: string | undefined;
    try {
      who = this.#principal?.(authInfo, exchange);
    } catch (error) {
      onerror?.(error instanceof Error ? error : new Error(String(error)));
      return undefined;
    }
    const address = this.#addresses ? this.#addressOf(exchange) : undefined;
    return scopeOf({ sessionId, principal: who, address });
  }

  #addressOf(exchange: Exchange): string | undefined {
    return clientAddress(exchange.address, exchange.header('x-forwarded-for'), this.#proxies);
  }
}

export function mintSession(): string {
  return `${MINTED}${randomUUID()}`;
}

export function isMinted(sessionId: string | undefined): boolean {
  return sessionId?.startsWith(MINTED) === true;
}
