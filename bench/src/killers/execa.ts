/** `execa`: a signal to the child. */
import { execa } from 'execa';
import { CannotStart, type Killer } from './killer.ts';

export const byExeca: Killer = (work) => {
  if (work.kind !== 'process') throw new CannotStart('execa ends processes');
  const child = execa(work.command, work.args, {
    stdin: 'ignore',
    stderr: 'ignore',
    buffer: false,
    reject: false,
  });
  child.stdout.resume();
  const exited = child.then(({ signal }) => signal ?? 'exited');
  return () => {
    child.kill('SIGKILL');
    return exited;
  };
};
