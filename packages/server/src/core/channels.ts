/**
 * What happens to calls, for whoever listens: one `node:diagnostics_channel` per transition, `estop:<transition>`.
 *
 * Free when nobody listens: no payload is made. A subscriber that throws changes nothing for a call or for the other
 * subscribers; but Node reports what it threw as an uncaught exception, which ends a process that hears of none.
 * Does not carry arguments or results, and texts from clients are bounded before they get here.
 */
import { type Channel, channel } from 'node:diagnostics_channel';
import { cleanText } from './clean.ts';
import type { Outcome, RungName } from './outcome.ts';
import type { StopReason } from './reason.ts';
import { isValidRequestId } from './request-id.ts';

/** Which call: the same on every channel. */
export interface CallEvent {
  /** As it came from the client; `undefined` where it was none, or the call came from this process. */
  readonly requestId: string | number | undefined;
  /** Prefixed: `session:...`, `connection:...`. */
  readonly scope: string;
  readonly method: string;
  /** The tool's, prompt's or resource's name; of the client's choosing, at most 100 characters. */
  readonly name: string | undefined;
}

export interface StopEvent extends CallEvent {
  readonly reason: StopReason;
}

/** A cancel that waits for a call which has not come yet. */
export interface WaitingEvent {
  readonly requestId: string | number;
  readonly scope: string;
  readonly reason: StopReason;
}

export interface ObservedEvent extends StopEvent {
  /** ms from the stop to the handler's first look at it. */
  readonly latencyMs: number;
}

export interface OutcomeEvent extends CallEvent {
  readonly outcome: Outcome;
}

export interface EvictedEvent {
  /** Recorded cancels that made room for a new one. */
  readonly count: number;
  /** Recorded cancels that wait now. */
  readonly recorded: number;
}

export interface CleanedUpEvent {
  /** Recorded cancels past their time, removed. */
  readonly expired: number;
  /** Rows of calls whose owner is gone, removed. */
  readonly ownerless: number;
}

export interface ClimbedEvent extends OutcomeEvent {
  readonly rung: RungName;
}

/** Each transition's channel, by its name. */
export interface Channels {
  /** A stop has reached a live call (`StopEvent`), or a cancel waits for one to come (`WaitingEvent`). */
  readonly recorded: Channel<unknown, StopEvent | WaitingEvent>;
  /** The handler has seen the stop: it had looked at its signal when that fired, or has asked since. */
  readonly observed: Channel<unknown, ObservedEvent>;
  /** The handler has returned or thrown, stopped or not. */
  readonly settled: Channel<unknown, OutcomeEvent>;
  /** A rung of the ladder has done what it can; the outcome says what it has shown. */
  readonly climbed: Channel<unknown, ClimbedEvent>;
  /** All work of a stopped call is known to have ended, by proof. */
  readonly proven: Channel<unknown, OutcomeEvent>;
  /** Answered, but the handler runs on or its work is `unknown`. */
  readonly abandoned: Channel<unknown, OutcomeEvent>;
  /** Stopped, or turned away, before its handler was started. */
  readonly refused: Channel<unknown, StopEvent>;
  /** Recorded cancels have made room for a new one. */
  readonly evicted: Channel<unknown, EvictedEvent>;
  /** A pass of the janitor, also one that found nothing. */
  readonly cleanedUp: Channel<unknown, CleanedUpEvent>;
}

export const channels: Channels = {
  recorded: channel('estop:recorded') as Channels['recorded'],
  observed: channel('estop:observed') as Channels['observed'],
  settled: channel('estop:settled') as Channels['settled'],
  climbed: channel('estop:climbed') as Channels['climbed'],
  proven: channel('estop:proven') as Channels['proven'],
  abandoned: channel('estop:abandoned') as Channels['abandoned'],
  refused: channel('estop:refused') as Channels['refused'],
  evicted: channel('estop:evicted') as Channels['evicted'],
  cleanedUp: channel('estop:cleaned-up') as Channels['cleanedUp'],
};

/** Characters of a name that are shown. */
export const LONGEST_NAME = 100;

/** The part of an event that says which call it is of. */
export function callEvent(call: { id: unknown; scope: string; method: string; name: string | undefined }): CallEvent {
  return {
    requestId: isValidRequestId(call.id) ? call.id : undefined,
    scope: call.scope,
    method: call.method,
    name: cleanText(call.name, LONGEST_NAME),
  };
}
