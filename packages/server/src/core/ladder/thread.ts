/**
 * The rung for threads: terminates each that still runs, and waits for its exit.
 *
 * The exit is proof. Native code that does not return keeps a thread alive past the wait (`pbkdf2Sync`, `execSync`);
 * then the work stays `unknown` until the exit comes after all. Processes that a thread started are not ended.
 */
import { goingOf } from '../work/work.ts';
import { endWithin, type Rung } from './rung.ts';

/** ms that a terminated thread may take to exit; a spin takes 1 to 4 ms. */
const EXIT_WAIT_MS = 1_000;

export const threadRung: Rung = {
  name: 'thread',
  isFor: (call) => goingOf(call.works, 'thread').length > 0,
  async climb(call, { clock }) {
    const threads = goingOf(call.works, 'thread');
    for (const thread of threads) thread.end();
    await endWithin(clock, EXIT_WAIT_MS, threads);
  },
};
