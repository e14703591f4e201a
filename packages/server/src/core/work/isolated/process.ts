/**
 * A process of Node that runs one function for one call.
 *
 * Bounds time and memory: it is ended with all that it has started, see `ProcessTree`; and one that goes over its memory
 * limit goes down alone, with its call. The limit is that of its JavaScript heap, and on Linux the kernel's of all that
 * it makes for itself, Buffers too. Does not bound the processes that it starts together: each has the kernel's limit.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Call } from '../../call.ts';
import type { StopReason } from '../../reason.ts';
import { IS_WINDOWS } from '../process/send.ts';
import { ProcessTree } from '../process/tree.ts';
import type { Body, BodyListener } from './body.ts';
import { dataMbFor } from './memory.ts';
import {
  FLAG_VARIABLE,
  type FromIsolated,
  type RunMessage,
  stopMessage,
  stopNumber,
  type ToIsolated,
} from './protocol.ts';
import { type IsolatedFunction, runIn } from './run.ts';
import type { Spares } from './spares.ts';

export interface ProcessOptions {
  /** MB of JavaScript heap, and about as much of Buffers; default: Node's own limit of the heap, and none. */
  readonly memoryMb?: number | undefined;
  /** Whether a control group is to be used where one can be had. Default: yes. */
  readonly cgroups?: boolean | undefined;
}

/**
 * Runs the function in a process that belongs to `call` and ends with it.
 *
 * @param spares processes that have imported the module already; when none is left, one is started
 * @returns what the function returned; rejects with what it threw, with the stop's reason when the process was ended
 *   for that or the call was stopped already, or with an error that says how the process went down
 */
export function runInProcess(
  call: Call,
  fn: IsolatedFunction,
  options: ProcessOptions,
  spares?: Spares,
): Promise<unknown> {
  return runIn(call, fn, (run) => spares?.take(run) ?? new NodeProcess(fn.module, run, options));
}

const ENTRY = fileURLToPath(new URL('./process-entry.js', import.meta.url));

/** How V8 and the C++ in Node go down when they are refused memory. */
const REFUSED: ReadonlySet<unknown> = new Set(['SIGABRT', 'SIGTRAP', 'SIGILL', 'SIGSEGV', 'SIGBUS']);

export class NodeProcess implements Body {
  readonly work: ProcessTree;
  listener: BodyListener | undefined;
  readonly #memoryMb: number | undefined;
  #flag: number | undefined;

  /**
   * @param run its function, if it is known already
   * @throws for what cannot be cloned; then the process is ended
   */
  constructor(module: string, run: RunMessage | null, { memoryMb, cgroups }: ProcessOptions) {
    this.#memoryMb = memoryMb;
    this.#flag = openFlag();
    const heap = memoryMb === undefined ? [] : [`--max-old-space-size=${memoryMb}`];
    this.work = new ProcessTree(
      process.execPath,
      [...inheritedFlags(), ...heap, ENTRY, module, String(memoryMb ?? '')],
      {
        ipc: true,
        cgroups,
        ...(this.#flag !== undefined && {
          descriptor: this.#flag,
          env: { ...process.env, [FLAG_VARIABLE]: '1' },
        }),
        dataMb: memoryMb === undefined ? undefined : dataMbFor(memoryMb),
        onSignal: (reason) => this.#stop(reason),
      },
    );
    void this.work.ended.then(() => this.#closeFlag());
    this.#hear();
    if (run === null) return;
    try {
      this.post(run);
    } catch (error) {
      void this.work.end();
      throw error;
    }
  }

  post(message: ToIsolated): void {
    const { child } = this.work;
    // What fails later than by what cannot be cloned shows by the end of the process.
    if (child.connected) child.send(message, () => {});
  }

  ref(): void {
    const { child } = this.work;
    child.ref();
    for (const one of handlesOf(child)) one?.ref?.();
  }

  unref(): void {
    const { child } = this.work;
    child.unref();
    for (const one of handlesOf(child)) one?.unref?.();
  }

  #hear(): void {
    const { child, ended } = this.work;
    child.stdin?.on('error', () => {}).end();
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', toStderr);
    child.on('message', (message) => this.listener?.heard(message as FromIsolated));
    if (child.pid === undefined) child.once('error', (error) => this.listener?.broke(error));
    const exited = new Promise<string>((resolve) => {
      child.once('exit', (code, signal) => resolve(this.#howOf(code, signal)));
      void ended.then(() => resolve('could not be started'));
    });
    // What it has sent before its end is read first. A process of its own may hold the channel.
    const disconnected = new Promise<void>((resolve) => {
      child.once('disconnect', resolve);
      void ended.then(resolve);
    });
    void Promise.all([exited, disconnected]).then(([how]) => this.listener?.gone(how));
  }

  #howOf(code: number | null, signal: NodeJS.Signals | null): string {
    if (this.#memoryMb !== undefined && REFUSED.has(signal)) {
      return `went down over its memory limit of ${this.#memoryMb} MB (${signal})`;
    }
    return `${signal === null ? `exited with code ${code}` : `was ended by ${signal}`} before it returned`;
  }

  #stop(reason: StopReason): void {
    if (this.#flag !== undefined) writeSync(this.#flag, Uint8Array.of(stopNumber(reason)), 0, 1, 0);
    this.post(stopMessage(reason));
  }

  #closeFlag(): void {
    if (this.#flag !== undefined) closeSync(this.#flag);
    this.#flag = undefined;
  }
}

/**
 * A file without a name, of no byte or one: a process that spins reads no message, but it can read that without
 * waiting. `undefined` where there is none to be had; then such a loop does not see a stop.
 */
function openFlag(): number | undefined {
  if (IS_WINDOWS) return undefined;
  const path = join(tmpdir(), `estop-${randomUUID()}`);
  try {
    const descriptor = openSync(path, 'wx+', 0o600);
    unlinkSync(path);
    return descriptor;
  } catch {
    return undefined;
  }
}

/** As `child_process.fork` has it: with the loaders that this process runs with, but neither its code nor its debugger. */
function inheritedFlags(): string[] {
  const flags = process.execArgv.filter((flag) => !flag.startsWith('--inspect'));
  const at = flags.findIndex((flag) => flag === '-e' || flag === '--eval' || flag === '-p' || flag === '--print');
  return at < 0 ? flags : flags.toSpliced(at, 2);
}

type Handle = { ref?(): void; unref?(): void } | null | undefined;

function handlesOf({ channel, stdin, stdout, stderr }: ProcessTree['child']): Handle[] {
  return [channel, stdin, stdout, stderr] as Handle[];
}

function toStderr(chunk: Buffer): void {
  process.stderr.write(chunk);
}
