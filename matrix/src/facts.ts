/**
 * What is found out about one subject, in the order of the table's columns.
 */
import { inSession } from './by-hand/session.ts';
import { cancelled, type ProbeRun } from './cancelled.ts';
import { hungUp } from './hung-up.ts';
import { leftOpen } from './left-open.ts';
import type { Mode, Setup } from './setups.ts';

export const COLUMNS = ['cancelled', 'hung up on', 'after a cancel', 'left open', 'the probe'] as const;

/**
 * - the work of a call that is cancelled while it runs: `stops` or `goes on`
 * - the handler of a call that is hung up on: the same
 * - what crosses the wire of a call after its cancel: `silence` or `an answer`
 * - requests of cancelled calls that the server leaves open; `-` where it is not the server that ends them
 * - cells of the probe that are as expected
 */
export type Facts = readonly [cancelled: string, hungUp: string, after: string, leftOpen: string, probe: string];

export interface Found {
  readonly facts: Facts;
  /** The cells of the probe that are not as expected, and where its log is. */
  readonly others: readonly string[];
  readonly log: string;
}

/** @throws Error when the subject could not be started, or not be probed; the signal's reason when it was interrupted */
export async function find(setup: Setup, mode: Mode, run: ProbeRun): Promise<Found> {
  const { cancel, after, cells, others, log } = await cancelled(setup, mode, run);
  run.signal.throwIfAborted();
  const [open, hangUp] = await inSession(setup, mode, async (session) => {
    // The hang-up last: over stdio nothing can follow it.
    const left = await leftOpen(setup, session);
    return [left, await hungUp(session)];
  });
  return { facts: [cancel, hangUp, after, open, cells], others, log };
}
