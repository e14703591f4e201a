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
  readonly id: unknown;
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
  /** Nothing more comes of it. */
  isDone = false;
  dueAt = 0;
  at = -1;
  // A list, because most often there is one.
  private readonly _asked: Asked[] = [];
  private _stopListening: (() => void) | undefined;

  constructor(exchange: Exchange, answer: Answer) {
    this.exchange = exchange;
    this.answer = answer;
  }

  get ids(): unknown[] {
    return this._asked.map(({ id }) => id);
  }

  /** There is no request in it. */
  get isEmpty(): boolean {
    return this._asked.length === 0;
  }

  /** Every request is answered, or silent. */
  get isOver(): boolean {
    return this._asked.every(isSettled);
  }

  get isSilent(): boolean {
    return this._asked.some(({ isSilent }) => isSilent);
  }

  /** Those of which nothing is written. */
  get silent(): unknown[] {
    return this._asked.flatMap(({ id, isSilent }) => (isSilent ? [id] : []));
  }

  /** What it would be answered with as JSON, were nothing silent in it. */
  get answers(): Frame[] {
    return this._asked.flatMap(({ answer }) => answer ?? []);
  }

  isCall(id: unknown): boolean {
    return this._of(id)?.call !== undefined;
  }

  asks(id: unknown): void {
    // Twice in one batch: the SDK answers it once.
    if (this._of(id) === undefined) this._asked.push({ id });
  }

  /** @param graceMs for how long its calls go on when the client has hung up */
  began(call: Call, alarms: Alarms, graceMs: number): void {
    const asked = this._of(call.id);
    if (asked !== undefined) asked.call = call;
    if (this.isResumable || this._stopListening !== undefined || graceMs === Infinity) return;
    const unlisten = this.exchange.onGone(() => {
      if (!this.isOver) alarms.set(this, alarms.now() + graceMs);
    });
    this._stopListening = () => {
      unlisten();
      alarms.unset(this);
    };
  }

  /** The grace after the client hung up is over. */
  ring(): void {
    for (const { call } of this._asked) call?.stop(disconnected());
  }

  answered(answer: Frame): void {
    const asked = this._of(answer.id);
    if (asked !== undefined && !isSettled(asked)) asked.answer = answer;
  }

  hushed(id: unknown): void {
    const asked = this._of(id);
    if (asked !== undefined && !isSettled(asked)) asked.isSilent = true;
  }

  /** Nothing more is to be heard of the client. */
  close(): void {
    this._stopListening?.();
  }

  private _of(id: unknown): Asked | undefined {
    return this._asked.find((asked) => asked.id === id);
  }
}

function isSettled({ answer, isSilent }: Asked): boolean {
  return answer !== undefined || isSilent === true;
}
