/** Broken: dies when the first piece of work was stopped, and has just said so. */
import { lie } from './lie.mjs';

await lie((message) => {
  if (message.event === 'worker_stopped') setImmediate(() => process.exit(1));
  return message;
});
