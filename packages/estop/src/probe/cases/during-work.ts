/** Cancelled while the work runs and may not yet commit. What is waited for is the witness's own word. */
import { type Case, requireEvent } from './case.ts';
import { workAgeMs } from './work-age.ts';

export const duringWork: Case = {
  name: 'during_work',
  watches: true,
  async establish(stage) {
    stage.waits.begin(stage);
    try {
      stage.open('before_work');
      await requireEvent(stage, 'worker_started');
    } catch (error) {
      stage.waits.over(stage, 0, false);
      throw error;
    }
  },
  async observe(stage) {
    let stopped = false;
    try {
      stopped = await stage.cancel(({ event }) => event === 'worker_stopped');
    } finally {
      stage.waits.over(stage, workAgeMs(stage.lines), stopped);
    }
    // The work can end before its handler has said that it was told; it is given the bound to say so.
    if (stopped && !stage.blackBox) {
      await stage.sees(({ event }) => event === 'handler_signal' || event === 'handler_gone');
    }
  },
};
