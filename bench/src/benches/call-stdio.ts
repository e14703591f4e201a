/** The same call over stdio, from a client to a server in a process of its own. */
import { type Bench, protectedAgainstBareByOneClient } from '../bench.ts';

export const callStdio: Bench = {
  name: 'call-stdio',
  run(quick) {
    const rounds = quick
      ? { starts: 1, rounds: 3, warmUp: 1, count: 50 }
      : { starts: 10, rounds: 300, warmUp: 800, count: 25 };
    return protectedAgainstBareByOneClient(
      { name: 'call-stdio', unit: 'us', target: 1.05, rounds },
      { script: 'call-stdio' },
    );
  },
};
