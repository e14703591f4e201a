/** Broken: says that the work stopped, and does it all the same. */
import { lie, writeMarker } from './lie.mjs';

await lie((message) => {
  if (message.event === 'worker_stopped') writeMarker(message.testId);
  return message;
});
