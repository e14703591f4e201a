/**
 * Starts a process in a group of its own, with a mark in its environment, known to the reaper before it is its command.
 */
import { type ChildProcess, type SpawnOptions, type StdioOptions, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Cgroup, newCgroup } from './cgroup.ts';
import { newCookie, withCookie } from './cookie.ts';
import { reaperPipe } from './reaper.ts';
import { IS_WINDOWS } from './send.ts';
import { startOf } from './stat-linux.ts';

const SCRIPT = fileURLToPath(new URL('../../../../sh/start.sh', import.meta.url));

export interface StartOptions {
  readonly cwd?: string | URL | undefined;
  /** Default: this process's. The mark is added to it. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** An IPC channel beside the streams, as `child_process.fork` has it. */
  readonly ipc?: boolean | undefined;
  /** A descriptor of this process that the child has as 5; only with `ipc`, and not on Windows. */
  readonly descriptor?: number | undefined;
  /** MB of memory that it may make for itself, heap and buffers alike; the kernel refuses more. Linux only. */
  readonly dataMb?: number | undefined;
  /** Whether a control group is to be used where one can be had. Default: yes. */
  readonly cgroups?: boolean | undefined;
}

export interface Started {
  readonly child: ChildProcess;
  readonly cookie: string;
  /** The leader's start time; `''` where the platform shows none at once. */
  readonly start: string;
  readonly cgroup: Cgroup | undefined;
}

/** What is wrong with the command shows as the child's `error` event, or as its exit with 126 or 127. */
export function start(command: string, args: readonly string[], options: StartOptions): Started {
  const cookie = newCookie();
  const settings: SpawnOptions = {
    cwd: options.cwd,
    env: withCookie(cookie, options.env ?? process.env),
    windowsHide: true,
    ...(options.ipc && { serialization: 'advanced' }),
  };
  if (IS_WINDOWS) {
    // Not detached: so the system ends it with this process.
    const stdio: StdioOptions = ['pipe', 'pipe', 'pipe', ...(options.ipc ? (['ipc'] as const) : [])];
    return { child: spawn(command, args, { ...settings, stdio }), cookie, start: '', cgroup: undefined };
  }
  // First the one who clears away what is made from here on.
  const reaper = reaperPipe();
  const cgroup = options.cgroups === false ? undefined : newCgroup(cookie);
  const kilobytes = options.dataMb === undefined ? '' : String(Math.round(options.dataMb * 1_024));
  const channels: StdioOptions = options.ipc ? ['ipc', options.descriptor ?? 'ignore'] : [];
  const child = spawn('/bin/sh', [SCRIPT, cgroup?.procs ?? '', kilobytes, command, ...args], {
    ...settings,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', reaper, ...channels],
  });
  return { child, cookie, start: (child.pid && startOf(child.pid)) || '', cgroup };
}
