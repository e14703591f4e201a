/**
 * One statement on one connection, as the work of a call: it has ended when the server says so.
 *
 * Its `fact` is `unknown` from the moment it is sent until the server has said that the connection is free again,
 * whatever it said of the statement: a result, an error, or 57014 for one that was cancelled. That is the server's own
 * word, so it is proof. A connection that is lost, the server's announcement that it ends it, and pg's own
 * `query_timeout` say nothing of the statement: it stays `unknown`. So it does where code in the server (a function in
 * C, a foreign server that waits) ignores the cancel. A lost one is looked for from then on, and is `none-found` when
 * its process in the server is; never `ended`.
 */
import { type Call, systemClock, type Work, type WorkFact } from '../../core/index.ts';
import { sendCancel } from './cancel.ts';
import {
  type Client,
  type Connection,
  type OwnClient,
  type Query,
  type QueryClass,
  type QueryConfig,
  queryClassFor,
} from './driver.ts';
import { type Look, lookFor } from './lost.ts';

export type WorkingCall = Pick<Call, 'state' | 'reason' | 'what' | 'onStop' | 'adopt'>;

export interface StatementEvents {
  /** What came of it, for the one who waits: the first of these counts. */
  result(result: unknown): void;
  error(error: unknown): void;
  /**
   * Nothing more comes of it on its connection: it was never sent, is over, or the connection is lost. Once.
   *
   * @param isSpoilt  the connection is lost, had an error, or could yet be hit by a cancel
   */
  free(isSpoilt: boolean): void;
  /** A new client to the same server, for when the connection is lost. */
  another(): OwnClient;
}

export class Statement implements Work {
  readonly kind = 'query';
  readonly listens = true;
  readonly ended: Promise<void>;
  readonly #call: WorkingCall;
  readonly #client: Client;
  readonly #events: StatementEvents;
  #resolveEnded = (): void => {};
  #state: 'waiting' | 'never sent' | 'sent' | 'answered' | 'lost' | 'gone' = 'waiting';
  #sentAt = 0;
  #connection: Connection | undefined;
  #error: unknown;
  #wasCancelled = false;
  #isCancelling = false;
  // Only while it is lost.
  #look: Look | undefined;

  /** Has pg send it when the connection is free. @throws TypeError for what could not be cancelled */
  constructor(
    call: WorkingCall,
    client: Client,
    textOrConfig: string | QueryConfig,
    values: readonly unknown[] | undefined,
    events: StatementEvents,
  ) {
    const Query = queryClassFor(client, textOrConfig);
    this.#call = call;
    this.#client = client;
    this.#events = events;
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    client.query(this.#queryOf(Query, textOrConfig, values));
  }

  get fact(): WorkFact {
    if (this.#state === 'sent' || this.#state === 'lost') return 'unknown';
    return this.#state === 'gone' ? 'none-found' : 'ended';
  }

  signal(): void {
    this.end();
  }

  /** Once more, since a cancel that overtook its statement found nothing to end; a lost one is looked for now. */
  end(): undefined {
    if (this.#look === undefined) void this.#cancel();
    else this.#look.now();
  }

  #queryOf(Query: QueryClass, textOrConfig: string | QueryConfig, values: readonly unknown[] | undefined): Query {
    const query = new Query(textOrConfig, values, (error, result) => {
      if (error) this.#failed(error);
      else this.#events.result(result);
    });
    if (typeof textOrConfig === 'object') query.query_timeout = textOrConfig.query_timeout;
    const submit = query.submit.bind(query);
    query.submit = (connection) => this.#submit(connection, submit);
    return query;
  }

  // Invariant: sent only for a call that runs, and the call's work from before its first byte.
  #submit(connection: Connection, submit: Query['submit']): Error | null {
    const refusal = refusalOf(this.#call);
    if (refusal === undefined) {
      this.#state = 'sent';
      this.#sentAt = systemClock.now();
      this.#connection = connection;
      // Before pg's own listener, which sends the next statement.
      connection.prependOnceListener('readyForQuery', this.#answered);
      // Before pg's own, which throws where nobody listens to the client's errors.
      connection.prependOnceListener('end', this.#lost);
      this.#call.adopt(this);
    }
    const error = refusal ?? submit(connection);
    if (error) this.#over('never sent');
    // Its values cannot be sent, but its text was: it does not run, and not every pg 8 gets its connection free again.
    else if (this.#error !== undefined) this.#over('never sent', true);
    return error;
  }

  /** pg's: the server said so, or the connection is lost, or pg waits no longer; or it was never sent. */
  #failed(error: Error): void {
    this.#error = error;
    // The server is not done before it says that it is, or closes the connection: both come at once.
    if (this.#state === 'sent' && isFromServer(error)) return;
    if (this.#state === 'waiting') this.#over('never sent');
    this.#events.error(error);
  }

  readonly #answered = (): void => {
    this.#over('answered', this.#error !== undefined || this.#wasCancelled);
    if (this.#error !== undefined) this.#events.error(this.#error);
  };

  readonly #lost = (): void => {
    this.#over('lost', true);
    this.#lookForIt();
    if (this.#error !== undefined) this.#events.error(this.#error);
  };

  #lookForIt(): void {
    const { processID } = this.#client;
    if (processID === null) return;
    this.#look = lookFor({
      client: this.#client,
      pid: processID,
      sentAt: this.#sentAt,
      isOver: () => refusalOf(this.#call) !== undefined,
      another: this.#events.another,
      cancel: () => this.#cancel(),
      gone: () => {
        this.#state = 'gone';
        this.#look = undefined;
        this.#resolveEnded();
      },
    });
  }

  // Invariant: once.
  #over(state: 'never sent' | 'answered' | 'lost', isSpoilt = false): void {
    this.#state = state;
    this.#connection?.off('readyForQuery', this.#answered);
    this.#connection?.off('end', this.#lost);
    if (state !== 'lost') this.#resolveEnded();
    // Behind what pg itself does about this message: a client that is given back now has to be free.
    queueMicrotask(() => this.#events.free(isSpoilt));
  }

  // Invariant: one at a time, and none for what has been answered.
  async #cancel(): Promise<void> {
    if (this.fact !== 'unknown' || this.#isCancelling) return;
    this.#wasCancelled = true;
    this.#isCancelling = true;
    await new Promise<void>((resolve) => sendCancel(this.#client, resolve));
    this.#isCancelling = false;
  }
}

/** Why a call can have nothing sent: it was stopped, or is over. */
export function refusalOf({ reason, state, what }: WorkingCall): Error | undefined {
  if (reason !== undefined) return reason;
  return state === 'running' ? undefined : new Error(`estop: ${what} is not running, so it can send no query`);
}

/** Only what the server says has a severity; what pg itself says has none. */
function isFromServer(error: object): boolean {
  return 'severity' in error && error.severity !== undefined;
}
