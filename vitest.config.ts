/**
 * All tests of the workspace. A test file that leaves a process, a socket, a listener or a timer behind fails
 * (`test/setup/nothing-left.ts`), and no test is tried again: one that passes now and then does not pass.
 */
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: [
      'packages/*/test/**/*.test.ts',
      'examples/test/**/*.test.ts',
      'matrix/test/**/*.test.ts',
      'test/**/*.test.ts',
    ],
    setupFiles: ['test/setup/nothing-left.ts'],
    pool: 'forks',
    // Most of them wait for other processes most of the time.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    testTimeout: 30_000,
    hookTimeout: 30_000,
    retry: 0,
  },
});
