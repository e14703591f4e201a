/** Functions for threads that listen to nothing. Each says first that it is up; those of native code have an end of their own. */
import { execSync } from 'node:child_process';
import { pbkdf2Sync } from 'node:crypto';
import { readlinkSync } from 'node:fs';

const up = ({ progress }) => progress({ progress: 1, message: 'up' });

export function spin(_args, context) {
  up(context);
  for (;;);
}

export function badRegex(_args, context) {
  up(context);
  return /^(a+)+$/.test(`${'a'.repeat(60)}!`);
}

export function atomicsWait(_args, context) {
  up(context);
  return Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

export async function microtasks(_args, context) {
  up(context);
  for (;;) await undefined;
}

/** Reports the thread that it is in, because only the system can say that it has come to its native code. */
export function pbkdf2({ iterations }, context) {
  context.progress({ progress: 1, message: readlinkSync('/proc/thread-self') });
  return pbkdf2Sync('password', 'salt', iterations, 64, 'sha512').length;
}

/** Writes the file `up`, and returns when that is gone again; after 60 s at the latest. */
export function execSyncWhile({ up }) {
  execSync('echo >"$UP"; i=0; while [ -e "$UP" ] && [ $i -lt 600 ]; do i=$((i + 1)); sleep 0.1; done', {
    env: { UP: up },
  });
  return 'returned';
}
