/** Whether estop can make control groups here: on Linux as root, or with a delegated subtree. */
import { Engine } from '@estop/server/core';
import { latch } from './waiting.ts';

/** It shows in what is said of a child that was in one. */
export async function canHaveCgroups(): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  const engine = new Engine({ cleanupMs: Infinity });
  const left = latch();
  const owner = { left: () => left.open() };
  const call = engine.begin({ scope: 'connection:1', id: 1, method: 'tools/call', name: 'try', owner });
  await call.run(() => call.spawn('true').output(), { timeoutMs: Infinity });
  await left.promise;
  await engine.close();
  return call.workFact === 'ended';
}
