/**
 * The rung for threads: terminates each that still runs, and waits for its exit.
 *
 * The exit is proof. Native code that does not return keeps a thread alive past the wait (`pbkdf2Sync`, `execSync`);
 * then the work stays `unknown` until the exit comes after all. Processes that a thread started are not ended.
 */
import { type Rung, within } from './rung.ts';

/** ms that a terminated thread may take to exit; a spin takes 1 to 4 ms. */
const EXIT_WAIT_MS = 1_000;

export const threadRung: Rung = {
  name: 'thread',
  async climb(call, { clock }) {
    const threads = call.works.filter((work) => work.kind === 'thread' && work.fact === 'unknown');
    for (const thread of threads) thread.end();
    await within(
      clock,
      EXIT_WAIT_MS,
      Promise.all(threads.map((thread) => thread.ended)).then(() => {}),
    );
    // The handler hangs on its thread, and settles a chain of promises behind the exit: let that chain run out.
    if (threads.length > 0) await new Promise(setImmediate);
  },
};
