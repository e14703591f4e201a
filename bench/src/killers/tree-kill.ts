/** `tree-kill`: a walk over children by `ps`, and a signal to each. */
import { spawn } from 'node:child_process';
import treeKill from 'tree-kill';
import { CannotStart, type Killer } from './killer.ts';

export const byTreeKill: Killer = (work) => {
  if (work.kind !== 'process') throw new CannotStart('tree-kill ends processes');
  const child = spawn(work.command, work.args, { stdio: ['ignore', 'pipe', 'ignore'] });
  child.stdout.resume();
  return () =>
    new Promise((resolve) => treeKill(child.pid ?? -1, 'SIGKILL', (error) => resolve(error?.message ?? 'killed')));
};
