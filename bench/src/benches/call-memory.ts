/** One trivial tools/call after the other in memory: all that is not the SDK's is protection. */
import { type Bench, protectedAgainstBare } from '../bench.ts';

export const callMemory: Bench = {
  name: 'call-memory',
  run(quick) {
    const rounds = quick
      ? { starts: 1, rounds: 3, warmUp: 1, count: 100 }
      : { starts: 4, rounds: 30, warmUp: 20, count: 500 };
    return protectedAgainstBare({ name: 'call-memory', unit: 'us', target: 1.1, rounds }, 'call-memory');
  },
};
