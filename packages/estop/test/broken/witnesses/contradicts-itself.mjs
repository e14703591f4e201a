/** Broken: tells of a stop, and when it is asked, the same job is still waiting. */
import { lie } from './lie.mjs';

await lie((message) => {
  if (message.type !== 'state') return message;
  return {
    ...message,
    jobs: message.jobs.map((job) => (job.state === 'stopped' ? { ...job, state: 'waiting' } : job)),
  };
});
