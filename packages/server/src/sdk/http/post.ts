/**
 * One POST and the requests in it, until each of them was answered or will not be.
 *
 * Of a batch with a call that stays silent, the others are answered first: an exchange has one end.
 */
import { type Alarm, type Alarms, type Call, disconnected } from '../../core/index.ts';
import type { Frame } from '../shapes.ts';
import type { Answer } from './answer.ts';
import type { Exchange } from './exchange.ts';

interface Asked {
  /** Of those that run an author's handler. */
  call?: Call;
  answer?: Frame;
  isSilent?: true;
}

export class Post implements Alarm {
  readonly exchange: Exchange;
  readonly answer: Answer;
  /** Whether the client can fetch the answer later: then its hang-up says nothing. */
  isResumable = false;
  dueAt = 0;
  at = -1;
  readonly #asked = new Map<unknown, Asked>();
  // Invariant: how many of them are neither answered nor silent.
  #open = 0;
  #silent = 0;
  #stopListening: (() => void) | undefined;

  constructor(exchange: Exchange, answer: Answer) {
    this.exchange = exchange;
    this.answer = answer;
  }

  get ids(): Iterable<unknown> {
    return this.#asked.keys();
  }

  /** Every request is answered, or silent. */
  get isOver(): boolean {
    return this.#open === 0;
  }

  get isSilent(): boolean {
    return this.#silent > 0;
  }

  /** Those of which nothing is written. */
  get silent(): unknown[] {
    return [...this.#asked].flatMap(([id, { isSilent }]) => (isSilent ? [id] : []));
  }

  /** What it would be answered with as JSON, were nothing silent in it. */
  get answers(): Frame[] {
    return [...this.#asked.values()].flatMap(({ answer }) => answer ?? []);
  }

  isCall(id: unknown): boolean {
    return this.#asked.get(id)?.call !== undefined;
  }

  asks(id: unknown): void {
    this.#asked.set(id, {});
    this.#open += 1;
  }

  /** @param graceMs for how long its calls go on when the client has hung up */
  began(call: Call, alarms: Alarms, graceMs: number): void {
    const asked = this.#asked.get(call.id);
    if (asked !== undefined) asked.call = call;
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
    for (const { call } of this.#asked.values()) call?.stop(disconnected());
  }

  answered(answer: Frame): void {
    const asked = this.#asked.get(answer.id);
    if (asked === undefined || asked.answer !== undefined || asked.isSilent) return;
    asked.answer = answer;
    this.#open -= 1;
  }

  hushed(id: unknown): void {
    const asked = this.#asked.get(id);
    if (asked === undefined || asked.answer !== undefined || asked.isSilent) return;
    asked.isSilent = true;
    this.#open -= 1;
    this.#silent += 1;
  }

  /** Nothing more is to be heard of the client. */
  close(): void {
    this.#stopListening?.();
  }
}
