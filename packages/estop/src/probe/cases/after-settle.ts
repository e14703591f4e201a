/** Cancelled after the call has resolved: there is nothing left to stop, and nothing to wait for. */
import { type Case, InvalidPhase } from './case.ts';

export const afterSettle: Case = {
  name: 'after_settle',
  watches: true,
  async establish(stage) {
    stage.open('before_work', 'allow_commit', 'release_response');
    await stage.settles();
    const resolved = stage.lines.some((line) => line.event === 'client_settled' && line.settlement === 'resolved');
    if (!resolved) throw new InvalidPhase('resolved');
  },
  async observe(stage) {
    stage.abort();
  },
};
