/** Nobody cancels. Without a baseline that works, no other case means anything. */
import type { Case } from './case.ts';

export const baseline: Case = {
  name: 'baseline',
  watches: false,
  async establish() {},
  async observe(stage) {
    stage.open('before_work', 'allow_commit', 'release_response');
    await stage.settles();
  },
};
