/**
 * A control group of Linux (v2) for one tree of processes: nothing that is started in it gets out by itself, so when
 * the kernel says that it is empty, that is proof; and one write kills all that is in it.
 *
 * There is one only where this process may make groups below its own: as root, or with a delegated subtree. A process
 * that may do that too (root, in the tree) can move itself out; nothing else can.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { COOKIE_TOKEN } from './cookie.ts';

export interface Cgroup {
  /** The file that a process writes itself into. */
  readonly procs: string;
  /** SIGKILL to all in it, also to those that are just being started. */
  kill(): void;
  /** The kernel's word that nothing is in it, and so the proof. */
  isEmpty(): boolean;
  /** Does nothing while something is in it. */
  remove(): void;
}

// Found out once: what a process starts later belongs below the same group, wherever it is moved meanwhile.
let home: string | null | undefined;
/** Whether groups can be made at `cgroupHome()`; found out by making one, when the first is wanted. */
let canMake: boolean | undefined;

/** Of all that this process starts; below it each tree has its own. @returns where it is, or would be */
export function cgroupHome(): string | undefined {
  if (home === undefined) {
    const own = process.platform === 'linux' ? ownCgroup() : undefined;
    home = own === undefined ? null : join(own, `estop-${COOKIE_TOKEN}`);
  }
  return home ?? undefined;
}

/** `undefined` where there is none to be had. */
export function newCgroup(cookie: string): Cgroup | undefined {
  if (canMake === false) return undefined;
  const parent = cgroupHome();
  canMake ??= parent !== undefined && makeHome(parent);
  if (parent === undefined || !canMake) return undefined;
  const path = join(parent, cookie.slice(COOKIE_TOKEN.length + 1));
  try {
    // Another tree's end may just have taken an empty home away.
    mkdirSync(path, { recursive: true });
  } catch {
    return undefined;
  }
  return {
    procs: join(path, 'cgroup.procs'),
    kill: () => attempt(() => writeFileSync(join(path, 'cgroup.kill'), '1')),
    isEmpty: () => !existsSync(path) || /^populated 0$/m.test(read(join(path, 'cgroup.events'))),
    remove() {
      removeTree(path);
      attempt(() => rmdirSync(parent));
    },
  };
}

function makeHome(path: string): boolean {
  try {
    mkdirSync(path);
  } catch {
    return false;
  }
  if (existsSync(join(path, 'cgroup.kill')) && canEnter(path)) return true;
  attempt(() => rmdirSync(path));
  return false;
}

/** To make a group is one permission, and to move a process into it another. */
function canEnter(path: string): boolean {
  const trial = spawnSync('/bin/sh', ['-c', 'echo 0 > "$1"', 'sh', join(path, 'cgroup.procs')], { stdio: 'ignore' });
  return trial.status === 0;
}

function ownCgroup(): string | undefined {
  // `... <mount point> <options> - cgroup2 ...`; a container may see it at a root that is not the machine's.
  const mount = read('/proc/self/mountinfo')
    .split('\n')
    .find((line) => line.includes(' - cgroup2 '));
  const [, , , root = '/', at] = mount?.split(' ') ?? [];
  const path = /^0::(.*)$/m.exec(read('/proc/self/cgroup'))?.[1];
  if (at === undefined || path === undefined) return undefined;
  return join(at, root !== '/' && path.startsWith(root) ? path.slice(root.length) : path);
}

/** With what a server that ran in it has made below it. What a group shows beside its groups are no files to remove. */
function removeTree(path: string): void {
  attempt(() => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (entry.isDirectory()) removeTree(join(path, entry.name));
    }
    rmdirSync(path);
  });
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function attempt(act: () => void): void {
  try {
    act();
  } catch {
    // It is gone already, or not to be had; whoever asks for the proof will see.
  }
}
