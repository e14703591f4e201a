/** How long a cancel takes, from the client's abort to the handler's signal, over stdio. */
import { type Bench, protectedAgainstBareByOneClient } from '../bench.ts';

export const cancelStdio: Bench = {
  name: 'cancel-stdio',
  run(quick) {
    const rounds = quick
      ? { starts: 1, rounds: 3, warmUp: 1, count: 20 }
      : { starts: 6, rounds: 50, warmUp: 70, count: 50 };
    return protectedAgainstBareByOneClient(
      { name: 'cancel-stdio', unit: 'us', target: 1.2, rounds },
      { script: 'cancel-stdio' },
    );
  },
};
