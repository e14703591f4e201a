/**
 * What becomes of a call whose client hangs up in the middle of it: over HTTP the call's connection is cut, over stdio
 * stdin ends. Both answers are things seen: the handler's signal, or work that was begun after the hang-up.
 */
import type { Session } from './by-hand/session.ts';
import { within } from './by-hand/waits.ts';

/** ms that a signal may take; whoever stops in time is not waited for any longer. */
const WATCH_MS = 3_000;

export async function hungUp(session: Session): Promise<'stops' | 'goes on' | 'unknown'> {
  const { handler, hangUp } = await session.call('hung-up');
  hangUp();
  const isSignalled = await within(handler.signalled, WATCH_MS);
  handler.openGate();
  if (isSignalled) return 'stops';
  return (await within(handler.worked, WATCH_MS)) ? 'goes on' : 'unknown';
}
