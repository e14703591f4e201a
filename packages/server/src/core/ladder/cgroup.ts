/**
 * The last rung for processes: the kernel kills all that is in their control group, also what left no other trace.
 *
 * Shows proof: a control group that the kernel calls empty. Only where one could be made, see `work/process/cgroup.ts`.
 */
import { type ProcessWork, processesOf } from '../work/work.ts';
import { type Climber, endWithin, type Rung } from './rung.ts';

/** ms that killed processes may take to be gone. */
const GONE_WAIT_MS = 1_000;

export const cgroupRung: Rung = {
  name: 'cgroup',
  isFor: (call) => containedOf(call).length > 0,
  async climb(call, { clock }) {
    const contained = containedOf(call);
    for (const work of contained) work.killContained();
    await endWithin(clock, GONE_WAIT_MS, contained);
  },
};

function containedOf({ works }: Climber): readonly ProcessWork[] {
  return processesOf(works).filter(({ isContained }) => isContained);
}
