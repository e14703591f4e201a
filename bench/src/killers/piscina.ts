/** `piscina`: a task with a signal; the thread of an aborted task is ended. */
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { CannotStart, type Killer } from './killer.ts';

const filename = fileURLToPath(new URL('../sides/threads.js', import.meta.url));
const pool = new Piscina({ filename, minThreads: 1, maxThreads: 1 });

export const byPiscina: Killer = (work) => {
  if (work.kind !== 'thread') throw new CannotStart('piscina ends threads');
  const abort = new AbortController();
  const ran = pool.run({ announceTo: work.announceTo }, { name: work.name, signal: abort.signal }).then(
    () => 'returned',
    (error: Error) => error.name,
  );
  return () => {
    abort.abort();
    return ran;
  };
};
