/**
 * `call.spawn`: a command that belongs to its call, and ends with it, with all that it has started.
 *
 * However the call ends: by a stop, or well. Then processes that are left get SIGTERM, and SIGKILL a second later.
 * Does not undo what the command has done, and does not end what others start for it (a daemon, a container's engine).
 */
import { type ChildProcess, spawn as startAlone } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import type { Call } from '../../call.ts';
import { heard } from '../../heard.ts';
import { checkCommand, type Place } from './command.ts';
import { type Output, type OutputOptions, outputOf } from './output.ts';
import { ProcessTree } from './tree.ts';

export interface SpawnOptions extends Place {
  /** Default: this process's. */
  readonly cwd?: string | URL | undefined;
  /** All of its environment, in the place of this process's; estop adds `ESTOP_WORK` to it. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Written to its stdin, which is closed then. */
  readonly input?: string | Uint8Array | undefined;
  /**
   * Leaves it to itself: it goes on when the call ends, and when this process does. It has no streams then, is not the
   * call's work, and nothing is claimed of it.
   */
  readonly detach?: boolean | undefined;
}

export interface Exit {
  /** `null` when a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Child {
  readonly pid: number;
  readonly stdin: Writable;
  /** To be read, or the command waits for its reader as soon as a pipe is full (64 KB on Linux). */
  readonly stdout: Readable;
  readonly stderr: Readable;
  /**
   * How the command has ended; what it started may go on. Rejects with the `StopReason` when the call is stopped, at
   * once: it is the ladder that ends the process. Need not be awaited: its rejection is handled.
   */
  readonly exited: Promise<Exit>;
  /**
   * Closes its stdin, and collects what it writes until it has exited and both streams have ended; so it waits for
   * whatever it has handed them on to. To be called right after the start: what has been read or has ended before
   * cannot be collected, and it rejects with an Error then.
   *
   * Rejects with the `StopReason` when the call is stopped; with a RangeError when one of the streams has more than
   * `maxBytes` (default 1 MiB), and the command is killed.
   */
  output(options?: OutputOptions): Promise<Output>;
  /**
   * Resolves, and never rejects, when all of it has ended, with all that it has started, as far as that can be seen
   * (the outcome says how far). May never do so.
   */
  readonly ended: Promise<void>;
  /** Ends it at once, with all that it has started; its call goes on. @returns `ended` */
  kill(): Promise<void>;
}

const OPTIONS: readonly string[] = ['cwd', 'env', 'input', 'detach'];

/**
 * @param cgroups whether it gets a control group where one can be had
 * @throws the call's `StopReason` when it has been stopped; an Error when its handler is not running (any more);
 *   TypeError or an Error with a `code` for a command that cannot be started, see `checkCommand`
 */
export function spawn(
  call: Call,
  command: string,
  args: readonly string[],
  options: SpawnOptions,
  cgroups: boolean,
): Child {
  call.throwIfStopped();
  if (call.state !== 'running') {
    throw new Error(`estop: ${call.what} is not running, so no command can be started for it`);
  }
  checkCommand(call.what, command, args, options);
  const unknown = Object.keys(options).find((option) => !OPTIONS.includes(option));
  if (unknown !== undefined) {
    throw new TypeError(`estop: ${call.what}: spawn() has no option "${unknown}"; it has ${OPTIONS.join(', ')}`);
  }
  const { cwd, env, input, detach } = options;
  if (detach) return alone(startAlone(command, args, { cwd, env, detached: true, stdio: 'ignore', windowsHide: true }));
  return owned(call, command, new ProcessTree(command, args, { cwd, env, cgroups }), input);
}

function owned(call: Call, command: string, tree: ProcessTree, input: SpawnOptions['input']): Child {
  const { child } = tree;
  // All three are pipes, see `start`.
  const { stdin, stdout, stderr } = child as ChildProcess & { stdin: Writable; stdout: Readable; stderr: Readable };
  call.adopt(tree);
  // The command may have ended, or closed it, before all of it is read: that shows by how the command ends.
  stdin.on('error', () => {});
  if (input !== undefined) stdin.end(input);
  const exited = untilStop(call, exitOf(child));
  // Nobody reads what comes after the stop, and what has got away may hold the streams open.
  const destroy = (): void => {
    for (const stream of [stdin, stdout, stderr]) stream.destroy();
  };
  call.onStop(() => void tree.ended.then(destroy));
  return {
    pid: child.pid ?? 0,
    stdin,
    stdout,
    stderr,
    exited,
    output(outputOptions = {}) {
      if (input === undefined) stdin.end();
      const tooMuch = (): void => void tree.end();
      return untilStop(
        call,
        outputOf(`estop: ${call.what}: ${command}`, { stdout, stderr, exited }, outputOptions, tooMuch),
      );
    },
    ended: tree.ended,
    kill() {
      void tree.end();
      return tree.ended;
    },
  };
}

/** Nobody's: not even this process waits for it. */
function alone(child: ChildProcess): Child {
  child.unref();
  const exited = heard(exitOf(child));
  const stdin = new Writable({ write: (_chunk, _encoding, done) => done() });
  const [stdout, stderr] = [Readable.from([]), Readable.from([])];
  const output = async (): Promise<Output> => ({ ...(await exited), stdout: '', stderr: '' });
  const ended = exited.then(
    () => {},
    () => {},
  );
  const kill = (): Promise<void> => {
    child.kill('SIGKILL');
    return ended;
  };
  return { pid: child.pid ?? 0, stdin, stdout, stderr, exited, output, ended, kill };
}

function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
}

/** The promise, or the call's stop, if that is first. */
function untilStop<T>(call: Call, promise: Promise<T>): Promise<T> {
  return heard(
    new Promise((resolve, reject) => {
      const takeBack = call.onStop(reject);
      promise.finally(takeBack).then(resolve, reject);
    }),
  );
}
