/**
 * The stop of one call: why, and how long after it each fact became known.
 *
 * Starts nothing and ends nothing: `call.stop()` starts a stop, the ladder enforces it, and this keeps what came of it.
 */
import { callEvent, channels } from './channels.ts';
import type { Clock } from './clock.ts';
import type { Outcome } from './outcome.ts';
import type { StopReason } from './reason.ts';
import { report } from './signal.ts';

/** Hears of a stop. What it returns is not waited for. */
export type StopListener = (reason: StopReason) => unknown;

type StoppedCall = Parameters<typeof callEvent>[0] & { outcome(): Outcome };

export class Stop {
  readonly reason: StopReason;
  readonly #call: StoppedCall;
  readonly #clock: Clock;
  readonly #at: number;
  #observed = false;
  // Invariant: each is set at most once.
  #signalToSettledMs: number | undefined;
  #signalToProofMs: number | undefined;

  constructor(call: StoppedCall, clock: Clock, reason: StopReason) {
    this.#call = call;
    this.#clock = clock;
    this.reason = reason;
    this.#at = clock.now();
  }

  /** The handler has seen it. Only the first time counts. */
  observed(): void {
    if (this.#observed) return;
    this.#observed = true;
    if (!channels.observed.hasSubscribers) return;
    channels.observed.publish({ ...callEvent(this.#call), reason: this.reason, latencyMs: this.#sinceSignal() });
  }

  /** The handler has returned or thrown, after the stop. */
  settled(): void {
    this.#signalToSettledMs ??= this.#sinceSignal();
  }

  /** All work is known to have ended, by proof. Only the first time counts. */
  proven(): void {
    if (this.#signalToProofMs !== undefined) return;
    this.#signalToProofMs = this.#sinceSignal();
    if (!channels.proven.hasSubscribers) return;
    channels.proven.publish({ ...callEvent(this.#call), outcome: this.#call.outcome() });
  }

  tell(listener: StopListener): void {
    try {
      const result = listener(this.reason);
      if (result instanceof Promise) result.catch(report);
    } catch (error) {
      report(error);
    }
  }

  facts(): Pick<Outcome, 'reason' | 'by' | 'signalToSettledMs' | 'signalToProofMs'> {
    const { kind, by } = this.reason;
    return {
      reason: kind,
      ...(by !== undefined && { by }),
      ...(this.#signalToSettledMs !== undefined && { signalToSettledMs: this.#signalToSettledMs }),
      ...(this.#signalToProofMs !== undefined && { signalToProofMs: this.#signalToProofMs }),
    };
  }

  #sinceSignal(): number {
    return this.#clock.now() - this.#at;
  }
}
