/**
 * A client made by hand: no SDK that tidies up on its way out, so that a hang-up is a hang-up and nothing else.
 */

export interface HandClient {
  /** Resolves when the server can be called. */
  open(): Promise<void>;
  call(args: object): Exchange;
}

/** One call, and over HTTP its request. */
export interface Exchange {
  /** The call is cancelled as its era and transport have it. */
  cancel(): Promise<void>;
  /** The connection ends, without a word. */
  hangUp(): void;
  /** Resolves when its request is over, whoever ended it; never over stdio, where a call has none of its own. */
  readonly ended: Promise<void>;
}
