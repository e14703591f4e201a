/** `workerpool`: a task with a `cancel`, which ends its thread. */
import { fileURLToPath } from 'node:url';
import workerpool from 'workerpool';
import { CannotStart, type Killer } from './killer.ts';

const script = fileURLToPath(new URL('../sides/threads-of-workerpool.js', import.meta.url));
const pool = workerpool.pool(script, { workerType: 'thread', maxWorkers: 1 });

export const byWorkerpool: Killer = (work) => {
  if (work.kind !== 'thread') throw new CannotStart('workerpool ends threads');
  const task = pool.exec(work.name, [{ announceTo: work.announceTo }]);
  const ran = Promise.resolve(task).then(
    () => 'returned',
    (error: Error) => error.name,
  );
  return () => {
    task.cancel();
    return ran;
  };
};
