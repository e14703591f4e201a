/**
 * The shapes that work takes once it has been started: trees of real processes that are known for outliving a kill.
 *
 * Each process of a shape has the shape's marker in its command line, so that `survivors` finds it from outside,
 * whatever became of its parent, its group, its session or its environment. Each shape ends by itself after about 90
 * seconds, except as said beside it; whoever runs one kills what `survivors` finds all the same. For Linux, with
 * `setsid` of util-linux or busybox: nothing else is needed besides `sh`, node, and the usual small programs.
 */
import { randomInt } from 'node:crypto';
import { basename } from 'node:path';
import type { Seen } from './survivors.ts';

export interface Shape {
  readonly name: string;
  /** Why a kill may miss it. */
  readonly because: string;
  readonly command: (marker: string) => readonly [command: string, ...args: string[]];
  /** Its processes when it is up, by the name in their command line. */
  readonly processes: Readonly<Record<string, number>>;
  /** How many of them are stopped (as by SIGSTOP) when it is up. */
  readonly stopped?: number;
  /** Nothing links one of its processes to the shape any more: no parent, group, session, or environment. */
  readonly traceless?: true;
}

/** Ends by itself. The marker is a fraction of a second, because nothing but a number is allowed there. */
const SLEEP = 'sleep 90.$0';

const TREE = `for i in $(seq 9); do sh -c 'for j in $(seq 10); do ${SLEEP} & done; wait' $0 & done; wait`;

const NODE_LEAF = 'setTimeout(() => {}, 90_000)';
/** Waits for its child, and passes nothing on: as `npx` and `uvx` do when they are killed. */
const NODE_WRAPPER = `
  const [, marker] = process.argv;
  const args = ['-e', ${JSON.stringify(NODE_LEAF)}, marker];
  require('node:child_process').spawn(process.execPath, args, { argv0: 'wrapped', stdio: 'inherit' });`;

const sh = (script: string): Shape['command'] => {
  return (marker) => ['sh', '-c', script, marker];
};

/** Forks, in all. Without kills there are 62 of them. */
const FORKS = 160;

/**
 * A tree in which each process but the last of a branch forks anew what it waited for and was killed.
 *
 * Its size is bounded by its depth. Each fork takes a byte from one pipe, which all of them read: when the pipe is empty
 * there is no other fork, whoever kills what. It ends with its last `sleep`.
 *
 * @param prefix  what each fork is started by
 */
function bomb(prefix: '' | 'setsid '): Shape['command'] {
  // $1 is how deep it may still go, $2 is this script: not in the environment, which a shape may not depend on.
  const script = `
    may_fork() { read -r _ <&3; }
    case $1 in
      root) for i in $(seq ${FORKS}); do echo; done | { exec 3<&0; exec ${prefix}sh -c "$2" "$0" 5 "$2"; } ;;
      0) exec 3<&-; exec sleep 60.$0 ;;
      *)
        may_fork && exec ${prefix}sh -c "$2" "$0" $(($1 - 1)) "$2" &
        while may_fork; do ${prefix}sh -c "$2" "$0" $(($1 - 1)) "$2" && break; done
        wait ;;
    esac`;
  return (marker) => ['sh', '-c', script, marker, 'root', script];
}

export const SHAPES: readonly Shape[] = [
  {
    name: 'plain child',
    because: 'nothing: the one that every kill ends',
    command: (marker) => ['sleep', `90.${marker}`],
    processes: { sleep: 1 },
  },
  {
    name: 'shell with && and pipes',
    because: 'the shell dies and what it runs goes on',
    command: sh(`cd / && ${SLEEP} | ${SLEEP} && ${SLEEP}`),
    processes: { sh: 1, sleep: 2 },
  },
  {
    name: 'npx-style wrapper',
    because: 'the wrapper dies, and passes nothing on',
    command: (marker) => [process.execPath, '-e', NODE_WRAPPER, marker],
    processes: { [basename(process.execPath)]: 1, wrapped: 1 },
  },
  {
    name: 'grandchild deaf to SIGTERM',
    because: 'only SIGKILL ends it, and it holds stdout open',
    command: sh(`(trap '' TERM; exec ${SLEEP}) & wait`),
    processes: { sh: 1, sleep: 1 },
  },
  {
    name: 'orphan in the group',
    because: 'its parent has exited: no walk from the child finds it',
    command: sh(`sh -c '${SLEEP} &' $0; exec ${SLEEP}`),
    processes: { sleep: 2 },
  },
  {
    name: 'orphan of the child',
    because: 'the child itself has exited: there is nothing left to kill by its pid',
    command: sh(`${SLEEP} &`),
    processes: { sleep: 1 },
  },
  {
    name: 'setsid child',
    because: 'it left the group',
    command: sh(`setsid ${SLEEP} & wait`),
    processes: { sh: 1, sleep: 1 },
  },
  {
    name: 'double fork with setsid',
    because: 'it left the group, and its parent has exited',
    command: sh(`setsid sh -c '${SLEEP} &' $0; exec ${SLEEP}`),
    processes: { sleep: 2 },
  },
  {
    name: 'tree of 100',
    because: 'there are many of them',
    command: sh(TREE),
    processes: { sh: 10, sleep: 90 },
  },
  {
    name: 'tree of 100 deaf to SIGTERM',
    because: 'there are many of them, and only SIGKILL ends one',
    command: sh(`trap '' TERM; ${TREE}`),
    processes: { sh: 10, sleep: 90 },
  },
  {
    name: 'fork bomb',
    because: 'it forks anew what is killed one by one',
    command: bomb(''),
    processes: { sh: 32, sleep: 32 },
  },
  {
    name: 'fork bomb of sessions',
    because: 'it forks anew what is killed, and each of its processes is in a group of its own',
    command: bomb('setsid '),
    processes: { sh: 32, sleep: 32 },
  },
  {
    // What is stopped cannot end itself: its parent does that, unless it was killed.
    name: 'stopped child',
    because: 'it does not run, so it acts upon nothing but SIGKILL',
    command: sh(`sh -c 'kill -STOP $$; exec ${SLEEP}' $0 & child=$!; ${SLEEP}; kill -KILL $child`),
    processes: { sh: 2, sleep: 1 },
    stopped: 1,
  },
  {
    // Ends after 20 s of CPU time, or when nobody holds the other end of its stdout.
    name: 'flood on stdout',
    because: 'it fills the pipe, and whoever reads it',
    command: sh('ulimit -t 20; exec yes $0'),
    processes: { yes: 1 },
  },
  {
    name: 'emptied environment',
    because: 'it left the group, its parent has exited, and its environment says nothing',
    command: sh(`sh -c 'env -i setsid ${SLEEP} &' $0; exec ${SLEEP}`),
    processes: { sleep: 2 },
    traceless: true,
  },
];

/** Of digits, because `sleep` takes nothing else; long, because it must not occur anywhere else. */
export function newMarker(): string {
  return `${randomInt(1e9, 1e10)}${randomInt(1e9, 1e10)}`;
}

/** Whether all processes of the shape are there, and are what they are going to be. */
export function isUp(shape: Shape, seen: readonly Seen[]): boolean {
  const expected = Object.entries(shape.processes);
  return (
    seen.length === sizeOf(shape) &&
    expected.every(([name, count]) => seen.filter((one) => one.name === name).length === count) &&
    seen.filter(({ state }) => state === 'T').length === (shape.stopped ?? 0)
  );
}

/** How many processes it has when it is up. */
export function sizeOf(shape: Shape): number {
  return Object.values(shape.processes).reduce((sum, count) => sum + count, 0);
}
