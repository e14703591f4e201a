/**
 * In a PID namespace of its own, where it may say which pid comes next: numbers of a call's processes are reused by
 * processes that are nobody's work, and then the call is stopped. Argument: which number. Prints what became of all.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { cancelled, Engine } from '@estop/server/core';

const engine = new Engine({ graceMs: 0, termMs: 2_000, cgroups: false, cleanupMs: Infinity });

const SCENES = {
  /** The child has gone, and its number; what has left its group goes on. */
  async child(call) {
    const child = call.spawn('sh', ['-c', 'setsid sh -c "echo \\$\\$; exec sleep 90" & read -r _']);
    const away = await firstLine(child.stdout);
    child.stdin.end('\n');
    await gone(child.pid);
    const innocent = await reuse(child.pid);
    call.stop(cancelled('library'));
    return { innocent, own: away };
  },
  /** What had left the group ends between SIGTERM and SIGKILL, and its number is somebody else's at once. */
  async descendant(call) {
    const child = call.spawn('sh', [
      '-c',
      'trap "" TERM; setsid sh -c "echo \\$\\$; exec sleep 90" & wait; exec sleep 90',
    ]);
    const away = await firstLine(child.stdout);
    call.stop(cancelled('library'));
    // The looks are far between by then, so that most likely none falls between the two who have the number.
    await sleep(1_000);
    process.kill(away, 'SIGKILL');
    await gone(away);
    return { innocent: await reuse(away), own: child.pid };
  },
};

let leave;
const left = new Promise((resolve) => {
  leave = resolve;
});
const call = engine.begin({ scope: 'connection:1', id: 1, method: 'tools/call', name: 'x', owner: { left: leave } });
call.run(() => new Promise((_, reject) => call.onStop(reject)), { timeoutMs: Infinity }).catch(() => {});

const { innocent, own } = await SCENES[process.argv[2]](call);
const isReuse = innocent !== undefined;
await left;
console.log(
  JSON.stringify({ isReuse, innocentRuns: isReuse && runs(innocent.pid), ownRuns: runs(own), ...call.outcome() }),
);
innocent?.kill('SIGKILL');
await engine.close();

/** A process in a group of its own with this pid, and so with this number of a group; `undefined` when it cannot be had. */
async function reuse(pid) {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    writeFileSync('/proc/sys/kernel/ns_last_pid', String(pid - 1));
    const innocent = spawn('sleep', ['90'], { detached: true, stdio: 'ignore' });
    if (innocent.pid === pid) return innocent;
    innocent.kill('SIGKILL');
    await new Promise((resolve) => innocent.once('exit', resolve));
  }
  return undefined;
}

async function firstLine(stream) {
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) return Number(String(chunk).trim());
}

/** Until the number is free: a zombie still has it. */
async function gone(pid) {
  while (existsSync(`/proc/${pid}`)) await sleep(1);
}

function runs(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !stat.slice(stat.lastIndexOf(')')).startsWith(') Z');
  } catch {
    return false;
  }
}
