/**
 * The rung that asks processes: SIGTERM to their groups, and time to end.
 *
 * Shows evidence when nothing of them is found in that time, and proof when their control group is empty. A process may
 * trap or ignore SIGTERM.
 */
import { processesOf } from '../work/work.ts';
import { endWithin, type Rung, within } from './rung.ts';

/** ms that the look before the signal may take; `/proc` can hang. */
const ASKED_WAIT_MS = 1_000;

export const termRung: Rung = {
  name: 'term',
  isFor: (call) => processesOf(call.works).length > 0,
  async climb(call, { clock, termMs }) {
    const processes = processesOf(call.works);
    await within(clock, ASKED_WAIT_MS, Promise.all(processes.map((work) => work.term())));
    await endWithin(clock, termMs, processes);
  },
};
