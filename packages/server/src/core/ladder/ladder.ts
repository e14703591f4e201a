/**
 * The ladder: what is tried, in order, until a call has ended; each rung a file.
 *
 * Climbs until the handler has settled and all work is known to have ended, or the last rung has run out.
 * Does not undo effects: what was committed before the end stays committed. Does not know of work started elsewhere.
 */
import { cgroupRung } from './cgroup.ts';
import { killRung } from './kill.ts';
import { nestedRung } from './nested.ts';
import { queryRung } from './query.ts';
import { type Climber, hasEnded, type LadderOptions, type Rung } from './rung.ts';
import { signalRung } from './signal.ts';
import { sweepRung } from './sweep.ts';
import { termRung } from './term.ts';
import { threadRung } from './thread.ts';

const FORCING: readonly Rung[] = [nestedRung, threadRung, queryRung, termRung, killRung, sweepRung, cgroupRung];

/** Never rejects, and ends in bounded time. The signal has fired when it returns its promise. */
export async function climb(call: Climber, options: LadderOptions): Promise<void> {
  await tried(signalRung, call, options);
  if (!hasEnded(call)) await force(call, options);
}

/** The rungs that do not ask. Alone, it is for a call that ended well and left work behind: nobody is to be told. */
export async function force(call: Climber, options: LadderOptions): Promise<void> {
  for (const rung of FORCING) {
    if (!rung.isFor(call)) continue;
    await tried(rung, call, options);
    if (hasEnded(call)) return;
  }
}

async function tried(rung: Rung, call: Climber, options: LadderOptions): Promise<void> {
  call.climbing(rung.name);
  await rung.climb(call, options);
  call.climbed(rung.name);
}
