/**
 * Requests that the server has not ended, of calls that were cancelled and whose handlers are done: each keeps a socket
 * and what belongs to it. Only where the server is to end them: a modern client ends its own, stdio has none.
 */
import type { Session } from './by-hand/session.ts';
import { within } from './by-hand/waits.ts';
import type { Setup } from './setups.ts';

const CALLS = 20;
/** ms for each step that need not come to pass. */
const WATCH_MS = 3_000;

export async function leftOpen({ transport, era }: Setup, session: Session): Promise<string> {
  if (transport === 'stdio' || era === 'modern') return '-';
  const calls = await Promise.all(Array.from({ length: CALLS }, (_, n) => session.call(`cancelled-${n}`)));
  await Promise.all(calls.map((call) => call.cancel()));
  await within(Promise.all(calls.map(({ handler }) => handler.signalled)), WATCH_MS);
  for (const { handler } of calls) handler.openGate();
  await within(Promise.all(calls.map(({ handler }) => handler.exited)), WATCH_MS);
  const ends = await Promise.all(calls.map(({ ended }) => within(ended, WATCH_MS)));
  return `${ends.filter((isOver) => !isOver).length} of ${CALLS}`;
}
