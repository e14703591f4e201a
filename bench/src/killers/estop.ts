/** estop: a call that starts the work, and that is stopped without a grace, and without time between the signals. */
import { type Call, cancelled, Engine, runInThread } from '@estop/server/core';
import type { Killer, Started } from './killer.ts';

const THREADS = new URL('../sides/threads.js', import.meta.url).href;

/** @param cgroups whether it may use a control group; where none can be had this changes nothing */
export function byEstop(cgroups: boolean): Killer {
  const engine = new Engine({ graceMs: 0, termMs: 0, cleanupMs: Infinity, cgroups });
  return (work) => {
    let left = (_fact: string): void => {};
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
}

function begin(call: Call, work: Started): Promise<unknown> {
  if (work.kind === 'thread') {
    const args = { announceTo: work.announceTo };
    return runInThread(call, { module: THREADS, export: work.name, args, onProgress: () => {} });
  }
  const child = call.spawn(work.command, work.args);
  child.stdin.end();
  child.stdout.resume();
  child.stderr.resume();
  // The child may exit long before what it has started, and the call is to go on until it is killed.
  return new Promise((_, reject) => call.onStop(reject));
}
