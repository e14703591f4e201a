/**
 * One attempt at one case: sends the call, has its phase established, cancels, waits, opens the gates, and watches.
 *
 * It writes down what happens and judges nothing. Every wait in it is for an event and is bounded; nothing that comes
 * out depends on how long something took, except that it came within the bound or not.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Case, InvalidPhase, type Stage } from './cases/case.ts';
import type { Gate } from './cases/table.ts';
import type { Waits } from './cases/waits.ts';
import type { AttemptEvent, AttemptLine, Transport } from './events.ts';
import type { Harness } from './harness.ts';
import { fill } from './placeholders.ts';
import { newTestId } from './subject/capture.ts';
import type { Session } from './subject/session.ts';

const NEWS_OF_DEATH_MS = 500;

export type AttemptState = 'running' | 'watching' | 'done' | 'invalid';

export interface AttemptInit {
  readonly case: Case;
  /** From 1; among the attempts at this case in this era. */
  readonly attempt: number;
  /** In a fresh process, with nothing beside it. */
  readonly alone: boolean;
  /** Shared with the attempts beside it. */
  readonly waits: Waits;
  readonly onState: (state: AttemptState) => void;
}

export class Attempt implements Stage {
  readonly testId = newTestId();
  readonly blackBox: boolean;
  readonly waits: Waits;
  readonly #harness: Harness;
  readonly #session: Session;
  readonly #init: AttemptInit;
  readonly #caller = new AbortController();

  constructor(harness: Harness, session: Session, init: AttemptInit) {
    this.#harness = harness;
    this.#session = session;
    this.#init = init;
    this.blackBox = harness.blackBox;
    this.waits = init.waits;
  }

  /** Rejects only when the run is interrupted. */
  async run(): Promise<void> {
    const { case: theCase, onState } = this.#init;
    onState('running');
    this.#send();
    try {
      await theCase.establish(this);
    } catch (error) {
      if (!(error instanceof InvalidPhase)) throw error;
      this.#write({ event: 'invalid_phase', missing: error.message, withinMs: this.#harness.timeoutMs });
      await this.#cleanUp();
      return onState('invalid');
    }
    this.#write({ event: 'phase_established', case: theCase.name });
    await theCase.observe(this);
    this.open('before_work', 'allow_commit', 'release_response');
    await this.settles();
    if (theCase.watches) {
      onState('watching');
      await this.hold(this.#harness.windowMs);
      this.#write({ event: 'window_ended', windowMs: this.#harness.windowMs });
    }
    await this.#readState();
    onState('done');
  }

  /** Nothing more is watched for; to be called before its process is ended. Once counts. */
  end(): void {
    if (!this.lines.some((line) => line.event === 'attempt_ended')) this.#write({ event: 'attempt_ended' });
  }

  get transport(): Transport {
    return this.#session.subject.transport;
  }

  get lines(): readonly AttemptLine[] {
    return this.#harness.log.of(this.testId);
  }

  open(...gates: Gate[]): void {
    const { control, witness } = this.#harness;
    for (const gate of gates) {
      if (gate === 'allow_commit') witness.grant(this.testId);
      else control.open(this.testId, gate);
      // A black box waits at no gate of ours; the witness holds its answer in the handler's place.
      if (gate === 'release_response') witness.release(this.testId);
    }
  }

  async sees(matches: (line: AttemptLine) => boolean): Promise<boolean> {
    const { log, timeoutMs, signal } = this.#harness;
    try {
      return await log.waitFor(this.testId, matches, timeoutMs, this.#session.over);
    } catch (error) {
      if (signal.aborted) throw error;
      // What a death ends is told by others, a moment after the death itself: a gate opened before would let it commit.
      return log.waitFor(this.testId, matches, Math.min(timeoutMs, NEWS_OF_DEATH_MS), signal);
    }
  }

  settles(): Promise<boolean> {
    return this.sees((line) => line.event === 'client_settled');
  }

  abort(): void {
    this.#write({ event: 'client_abort' });
    this.#caller.abort(new Error('estop probe: the caller pressed Stop'));
  }

  async cancel(stopped: (line: AttemptLine) => boolean): Promise<boolean> {
    this.abort();
    const seen = await this.sees(stopped);
    if (!seen) {
      this.#write({ event: 'cancel_not_observed', withinMs: this.#harness.timeoutMs });
      this.#write({ event: 'race_step_begins' });
    }
    return seen;
  }

  readsAll(): Promise<boolean> {
    return this.#session.answers();
  }

  async hold(ms: number): Promise<void> {
    if (ms > 0) await delay(ms, undefined, { signal: this.#harness.signal });
  }

  #send(): void {
    const { control, witness, tool } = this.#harness;
    const { client, capture, subject, era } = this.#session;
    const { case: theCase, attempt, alone } = this.#init;
    control.expect(this.testId);
    capture.expect(this.testId);
    witness.arm(this.testId, { hold: this.blackBox });
    const { pid, transport } = subject;
    this.#write({ event: 'attempt_started', case: theCase.name, attempt, era, transport, pid, alone });
    const call = client.call(tool, this.#arguments(), this.#caller.signal);
    this.#write({ event: 'client_sent' });
    call.then(
      () => this.#write({ event: 'client_settled', settlement: 'resolved' }),
      (error: unknown) => {
        const settlement = client.settlementOf(error, this.#caller.signal);
        const detail = (error instanceof Error ? error.message : String(error)).slice(0, 200);
        this.#write({ event: 'client_settled', settlement, detail });
      },
    );
  }

  #arguments(): Record<string, unknown> {
    const { witness, args } = this.#harness;
    const url = witness.url(this.testId);
    if (!this.blackBox) return { test_id: this.testId, work_url: url };
    const names = { 'work.url': url, 'work.command': witness.command(this.testId), 'test.id': this.testId };
    return fill(args, names);
  }

  async #cleanUp(): Promise<void> {
    this.open('before_work', 'allow_commit', 'release_response');
    this.#caller.abort(new Error('estop probe: this attempt is over'));
    await this.settles();
  }

  async #readState(): Promise<void> {
    const { witness, timeoutMs } = this.#harness;
    const { subject } = this.#session;
    if (!this.lines.some((line) => line.event === 'client_settled')) {
      this.#write({ event: 'client_settled', settlement: 'pending' });
    }
    witness.readMarker(this.testId);
    await witness.readState(this.testId, timeoutMs);
    const answers = subject.alive && (await this.#session.answers());
    // One process from start to end: while it is alive, it is the same.
    this.#write({ event: 'server_checked', alive: subject.alive, samePid: subject.alive, answers });
  }

  #write(event: AttemptEvent): void {
    this.#harness.log.write('harness', { testId: this.testId, ...event });
  }
}
