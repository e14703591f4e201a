/** Runs `SUBJECT` as the first process of a PID namespace, on this one's stdio; hands SIGTERM on, and exits as it does. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

const unshare = spawn('unshare', [...process.env.UNSHARE.split(' '), process.execPath, process.env.SUBJECT], {
  stdio: 'inherit',
});
process.on('SIGTERM', () => {
  const [inside] = readFileSync(`/proc/${unshare.pid}/task/${unshare.pid}/children`, 'utf8').trim().split(' ');
  process.kill(Number(inside), 'SIGTERM');
});
unshare.on('exit', (code) => {
  process.exitCode = code ?? 1;
});
