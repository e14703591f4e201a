/** Numbers of processes are reused: whoever has one now is not who had it then, and is not harmed. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const SUBJECT = fileURLToPath(new URL('../subjects/pid-reuse.mjs', import.meta.url));

/** In a PID namespace of its own, in which a shell waits for all that has lost its parent. */
function inNamespace(script: string, ...args: string[]) {
  const unshare = ['--pid', '--fork', '--kill-child', '--mount-proc', 'sh', '-c', script, 'sh', ...args];
  return spawnSync('unshare', unshare, { encoding: 'utf8', timeout: 20_000 });
}

/** Its own end would be that of all in its namespace, also of the reaper, which tidies up after the subject. */
const RUN_AND_WAIT = '"$1" "$2" "$3"; until set -- /proc/[0-9]* && [ $# -le 1 ]; do sleep 0.05; done';

const canSayWhichPidIsNext = inNamespace('echo 100 >/proc/sys/kernel/ns_last_pid').status === 0;

describe.skipIf(!canSayWhichPidIsNext)(
  `a reused number is not harmed${canSayWhichPidIsNext ? '' : ' (no PID namespace can be had here)'}`,
  () => {
    test.each([
      ["that of a call's child, with its group's", 'child'],
      ['that of one that had left the group, between SIGTERM and SIGKILL', 'descendant'],
    ])('%s', (_, scene) => {
      const { stdout, stderr } = inNamespace(RUN_AND_WAIT, process.execPath, SUBJECT, scene);
      expect(JSON.parse(stdout || JSON.stringify(stderr))).toMatchObject({
        isReuse: true,
        innocentRuns: true,
        ownRuns: false,
        state: 'stopped',
        work: 'none-found',
      });
    });
  },
);
