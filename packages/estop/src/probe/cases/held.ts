/** The control: the work is held like that of `during_work`, and no shorter, and nobody cancels. */
import { type Case, requireEvent } from './case.ts';
import { workAgeMs } from './work-age.ts';

export const held: Case = {
  name: 'held',
  watches: true,
  async establish(stage) {
    stage.open('before_work');
    await requireEvent(stage, 'worker_started');
  },
  async observe(stage) {
    const holdMs = await stage.waits.forControl();
    await stage.hold(holdMs - workAgeMs(stage.lines));
  },
};
