/**
 * The rung that takes the power from processes: SIGKILL to their groups.
 *
 * Shows nothing by itself: what has left the groups is not reached, and who is reached takes a moment to be gone. The
 * sweep comes right after it, and looks.
 */
import { processesOf } from '../work/work.ts';
import type { Rung } from './rung.ts';

export const killRung: Rung = {
  name: 'kill',
  isFor: (call) => processesOf(call.works).length > 0,
  async climb(call) {
    for (const work of processesOf(call.works)) work.kill();
  },
};
