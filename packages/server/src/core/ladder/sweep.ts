/**
 * The rung for processes that have left their group: SIGKILL to what has the call's mark in its environment or descends
 * from it, look after look until one finds nothing.
 *
 * Shows evidence (`none-found`): what has left the group, lost its parent and cleared its environment is not seen. A
 * process that the kernel cannot end, such as in a hanging file system, stays `unknown`, and is looked for on.
 */
import { processesOf } from '../work/work.ts';
import { type Rung, within } from './rung.ts';

/** ms that killed processes may take to be gone. */
const GONE_WAIT_MS = 1_000;

export const sweepRung: Rung = {
  name: 'sweep',
  isFor: (call) => processesOf(call.works).length > 0,
  async climb(call, { clock }) {
    await within(clock, GONE_WAIT_MS, Promise.all(processesOf(call.works).map((work) => work.sweep())));
    // What has ended is told to the call in turns of its own.
    await new Promise(setImmediate);
  },
};
