/**
 * A thread that runs one function for one call.
 *
 * Bounds time: a function that spins, or waits for ever, is ended by `terminate()`, and the thread's exit is the proof.
 * Does not bound memory (an allocation can still take the process down), does not end processes that the function
 * started, and cannot interrupt native code that does not return (then the exit comes late, or never).
 */
import { Worker } from 'node:worker_threads';
import type { Call } from '../../call.ts';
import type { Progress } from '../../context.ts';
import { heard } from '../../heard.ts';
import type { WorkFact } from '../../outcome.ts';
import type { StopReason } from '../../reason.ts';
import type { Work } from '../work.ts';
import type { Body, BodyListener } from './body.ts';
import { importable } from './module.ts';
import {
  type FromIsolated,
  type RunMessage,
  stopMessage,
  stopNumber,
  type ThreadStart,
  type ToIsolated,
} from './protocol.ts';
import { type IsolatedFunction, runIn } from './run.ts';
import type { Spares } from './spares.ts';

export interface ThreadOptions {
  /** The name of the exported function: `(data, context: CallContext) => result`. Default: `default`. */
  readonly export?: string | undefined;
  /** Hears of the function's progress, in order, and before its result. Default: nobody. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/**
 * Runs a function in a thread that belongs to `call` and ends with it: what `Call.thread` does.
 *
 * @param module a `URL`, an absolute path, or a package's name
 * @param data what the function gets; must be cloneable
 * @returns what the function returned; rejects as `runInThread` does, and with a TypeError for a
 *   module that is not there. Need not be awaited: its rejection is handled.
 */
export function thread(
  call: Call,
  module: string | URL,
  data: unknown,
  { export: name = 'default', onProgress = () => {} }: ThreadOptions = {},
): Promise<unknown> {
  return heard(start());

  async function start(): Promise<unknown> {
    const found = importable(module, `${call.what}: thread()`);
    return runInThread(call, { module: found, export: name, args: data, onProgress });
  }
}

/**
 * Runs the function in a thread that belongs to `call` and ends with it.
 *
 * @param spares threads that have imported the module already; when none is left, one is started
 * @returns what the function returned; rejects with what it threw, with the stop's reason when the thread was ended
 *   for that or the call was stopped already, or with an error that says how the thread went down
 */
export function runInThread(call: Call, fn: IsolatedFunction, spares?: Spares): Promise<unknown> {
  return runIn(call, fn, (run) => spares?.take(run) ?? new Thread(fn.module, run));
}

const ENTRY = new URL('./thread-entry.js', import.meta.url);

export class Thread implements Work, Body {
  readonly kind = 'thread';
  readonly listens = true;
  readonly ended: Promise<void>;
  listener: BodyListener | undefined;
  readonly #worker: Worker;
  readonly #stopFlag = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  #exited = false;
  #isPrinted = false;

  /**
   * @param run its function, if it is known already
   * @throws for what cannot be cloned; then no thread is started
   */
  constructor(module: string, run: RunMessage | null) {
    this.#worker = new Worker(ENTRY, {
      workerData: { module, run, stopFlag: this.#stopFlag } satisfies ThreadStart,
      // The process's stdout may be a protocol's: what a tool prints must not get in between its frames.
      stdout: true,
      stderr: true,
      name: run?.what ?? module,
    });
    if (run !== null) this.#print();
    this.#worker.on('message', (message: FromIsolated) => this.listener?.heard(message));
    this.#worker.on('messageerror', (error) => this.listener?.broke(error));
    this.#worker.on('error', (error) => this.listener?.broke(error));
    this.ended = new Promise((ended) => {
      this.#worker.once('exit', (code) => {
        this.#exited = true;
        this.#print();
        this.listener?.gone(`exited with code ${code} before it returned`);
        ended();
      });
    });
  }

  get work(): this {
    return this;
  }

  get fact(): WorkFact {
    return this.#exited ? 'ended' : 'unknown';
  }

  signal(reason: StopReason): void {
    Atomics.store(new Int32Array(this.#stopFlag), 0, stopNumber(reason));
    this.post(stopMessage(reason));
  }

  end(): undefined {
    // Its promise is not what counts: it has been seen to settle before the exit event.
    void this.#worker.terminate();
  }

  post(message: ToIsolated): void {
    this.#worker.postMessage(message);
  }

  ref(): void {
    this.#worker.ref();
    this.#print();
  }

  /** Only right after its start: once its streams are read, it keeps this process alive whatever it is told. */
  unref(): void {
    this.#worker.unref();
  }

  #print(): void {
    if (this.#isPrinted) return;
    this.#isPrinted = true;
    this.#worker.stdout.on('data', toStderr);
    this.#worker.stderr.on('data', toStderr);
  }
}

function toStderr(chunk: Buffer): void {
  process.stderr.write(chunk);
}
