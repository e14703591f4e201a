/**
 * Cancelled after the effect and before the answer. What is waited for is that the handler was told; of a black box,
 * that the server has read the cancel: an answer let go before that would cross it, and pass for noise.
 */
import type { AttemptLine } from '../events.ts';
import { type Case, requireEvent, type Stage } from './case.ts';

export const afterCommit: Case = {
  name: 'after_commit',
  watches: true,
  async establish(stage) {
    stage.open('before_work', 'allow_commit');
    // A black box waits for its answer at the witness, which has written the marker by then.
    await requireEvent(stage, stage.blackBox ? 'worker_committed' : 'handler_got_result');
  },
  async observe(stage) {
    const seen = await stage.cancel(stage.blackBox ? cancelCrossed(stage) : handlerTold);
    if (seen && stage.blackBox) await stage.readsAll();
  },
};

const handlerTold = ({ event }: AttemptLine): boolean => event === 'handler_signal' || event === 'handler_gone';

/** On pipes what comes after it comes second. Over HTTP it goes another way, and the cancel has a way of its own. */
function cancelCrossed({ transport }: Stage): (line: AttemptLine) => boolean {
  if (transport === 'stdio') return (line) => line.event === 'wire' && line.method === 'notifications/cancelled';
  return (line) =>
    (line.event === 'post_answered' && line.cancels !== undefined) ||
    (line.event === 'stream_closed' && line.by === 'client');
}
