/**
 * Broken: the work stops, the call ends, and after that the work is started again.
 *
 * How long after: `soon` when the handler has returned, `after-window` when the server is next asked for
 * its tools, which the probe does after the window of the attempt.
 */
import { slowMarker } from '../../../dist/kit/index.js';
import { serve } from './serve.mjs';

const queue = [];
const retryAll = () => {
  for (const url of queue.splice(0)) fetch(url, { method: 'POST' }).catch(() => {});
};
if (process.argv[2] === 'after-window') {
  process.stdin.on('data', (chunk) => {
    if (String(chunk).includes('"tools/list"')) retryAll();
  });
}

const slow = slowMarker({ onSignal: 'forward' });
serve(async (args, context) => {
  try {
    return await slow(args, context);
  } catch (error) {
    queue.push(args.work_url);
    if (process.argv[2] === 'soon') setTimeout(retryAll, 50);
    throw error;
  }
});
