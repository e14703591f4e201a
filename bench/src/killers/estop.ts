/** estop: a call that starts the work, and that is stopped without a grace. */
import { type Call, cancelled, Engine, runInThread } from '@estop/server/core';
import { CannotStart, type Killer, type Started } from './killer.ts';

const engine = new Engine({ graceMs: 0, cleanupMs: Infinity });
const THREADS = new URL('../sides/threads.js', import.meta.url).href;

export const byEstop: Killer = (work) => {
  let left = (_said: string): void => {};
  const done = new Promise<string>((resolve) => {
    left = resolve;
  });
  const owner = { left: (call: Call) => left(call.workFact) };
  const call = engine.begin({ scope: 'connection:1', id: 1, method: 'tools/call', name: 'work', owner });
  call.run(() => begin(call, work), { timeoutMs: Infinity }).catch(() => {});
  return () => {
    call.stop(cancelled('library'));
    return done;
  };
};

function begin(call: Call, work: Started): Promise<unknown> {
  if (work.kind === 'process') throw new CannotStart('not yet');
  const args = { announceTo: work.announceTo };
  return runInThread(call, { module: THREADS, export: work.name, args, onProgress: () => {} });
}
