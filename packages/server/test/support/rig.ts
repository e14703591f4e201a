/**
 * An engine on virtual time, and calls on it whose handlers do what a test says.
 *
 * Its janitor comes when a test says so: of a deadline of years it would make millions of passes.
 */
import {
  type Call,
  type CallInit,
  type CallState,
  Engine,
  type EngineOptions,
  type RunOptions,
} from '@estop/server/core';
import { VirtualClock } from './virtual-clock.ts';
import { latch } from './waiting.ts';

export const GRACE_MS = 100;

export interface Answer {
  /** How often the caller was answered. */
  times: number;
  value?: unknown;
  error?: unknown;
}

export interface Running {
  readonly call: Call;
  readonly answer: Answer;
  readonly returns: (value?: unknown) => void;
  readonly throws: (error: unknown) => void;
}

export interface Rig {
  readonly clock: VirtualClock;
  readonly engine: Engine;
  /** Each call as it leaves the registry; twice in it means that it left twice. */
  readonly left: Call[];
  arrive(init?: Partial<CallInit>): Call;
  /** A call that is running, with a handler that waits for the test. */
  start(timeoutMs?: number, init?: Partial<CallInit>, options?: Partial<RunOptions>): Running;
}

export interface RigOptions extends EngineOptions {
  readonly engine?: typeof Engine;
}

export function rig({ engine: Kind = Engine, ...options }: RigOptions = {}): Rig {
  const clock = new VirtualClock();
  const engine = new Kind({ clock, graceMs: GRACE_MS, cleanupMs: Infinity, ...options });
  const left: Call[] = [];
  const owner = { left: (call: Call) => void left.push(call) };
  const arrive = (init: Partial<CallInit> = {}): Call =>
    engine.begin({ scope: 'connection:1', id: 1, method: 'tools/call', name: 'scrape', owner, ...init });
  return {
    clock,
    engine,
    left,
    arrive,
    start(timeoutMs = Infinity, init, options) {
      const call = arrive(init);
      const handler = latch<unknown>();
      const answer = answerOf(call.run(() => handler.promise, { timeoutMs, ...options }));
      return { call, answer, returns: handler.open, throws: handler.fail };
    },
  };
}

export function answerOf(promise: Promise<unknown>): Answer {
  const answer: Answer = { times: 0 };
  promise.then(
    (value) => {
      answer.times += 1;
      answer.value = value;
    },
    (error: unknown) => {
      answer.times += 1;
      answer.error = error;
    },
  );
  return answer;
}

/** An engine that also keeps every move of every call, in order. */
export class RecordingEngine extends Engine {
  readonly moves: { call: Call; from: CallState; to: CallState }[] = [];

  override moved(call: Call, from: CallState, to: CallState): void {
    super.moved(call, from, to);
    this.moves.push({ call, from, to });
  }
}
