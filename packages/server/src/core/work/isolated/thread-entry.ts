/**
 * Where a thread starts: ties what `entry.ts` does to the thread's port and its shared stop flag.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { enter } from './entry.ts';
import type { ThreadStart, ToIsolated } from './protocol.ts';

const { module, run, stopFlag } = workerData as ThreadStart;
const flag = new Int32Array(stopFlag);

const hear = enter(module, {
  place: 'thread',
  post: (message) => parentPort?.postMessage(message),
  raised: () => Atomics.load(flag, 0),
});
if (run !== null) hear(run);
parentPort?.on('message', (message: ToIsolated) => hear(message));
