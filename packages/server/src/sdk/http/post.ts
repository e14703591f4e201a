/**
 * One POST and the requests in it, until each of them was answered or will not be.
 *
 * Of a batch with a call that stays silent, the others are answered first: an exchange has one end.
 */
import type { Alarm, Alarms, Call } from '../../core/index.ts';
import { disconnected } from '../../core/index.ts';
import type { Frame } from '../shapes.ts';
import type { Answer } from './answer.ts';
import type { Exchange } from './exchange.ts';

export class Post implements Alarm {
  readonly exchange: Exchange;
  readonly answer: Answer;
  /** Whether the client can fetch the answer later: then its hang-up says nothing. */
  isResumable = false;
  dueAt = 0;
  at = -1;
  readonly ids = new Set<unknown>();
  // Invariant: no id is in both.
  readonly #open = new Set<unknown>();
  readonly #silent = new Set<unknown>();
  readonly #calls = new Set<Call>();
  readonly #callIds = new Set<unknown>();
  // Only of a batch: what it would be answered with as JSON, were nothing silent in it.
  readonly #answers: Frame[] = [];
  #stopListening: (() => void) | undefined;

  constructor(exchange: Exchange, answer: Answer) {
    this.exchange = exchange;
    this.answer = answer;
  }

  /** Every request is answered, or silent. */
  get isOver(): boolean {
    return this.#open.size === 0;
  }

  get silent(): ReadonlySet<unknown> {
    return this.#silent;
  }

  get answers(): readonly Frame[] {
    return this.#answers;
  }

  isCall(id: unknown): boolean {
    return this.#callIds.has(id);
  }

  asks(id: unknown): void {
    this.ids.add(id);
    this.#open.add(id);
  }

  /** @param graceMs for how long its calls go on when the client has hung up */
  began(call: Call, alarms: Alarms, graceMs: number): void {
    this.#calls.add(call);
    this.#callIds.add(call.id);
    if (this.isResumable || this.#stopListening !== undefined || graceMs === Infinity) return;
    this.#stopListening = () => {};
    const unlisten = this.exchange.onGone(() => {
      if (!this.isOver) alarms.set(this, alarms.now() + graceMs);
    });
    this.#stopListening = () => {
      unlisten();
      alarms.unset(this);
    };
  }

  /** The grace after the client hung up is over. */
  ring(): void {
    for (const call of this.#calls) call.stop(disconnected());
  }

  left(call: Call): void {
    this.#calls.delete(call);
  }

  answered(answer: Frame): void {
    this.#open.delete(answer.id);
    if (this.ids.size > 1) this.#answers.push(answer);
  }

  hushed(id: unknown): void {
    if (this.#open.delete(id)) this.#silent.add(id);
  }

  /** Nothing more is to be heard of the client. */
  close(): void {
    this.#stopListening?.();
  }
}
