/**
 * A thread that runs one function for one call.
 *
 * Bounds time: a function that spins, or waits for ever, is ended by `terminate()`, and the thread's exit is the proof.
 * Does not bound memory (an allocation can still take the process down), does not end processes that the function
 * started, and cannot interrupt native code that does not return (then the exit comes late, or never).
 */
import { Worker } from 'node:worker_threads';
import type { Call } from '../call.ts';
import type { Progress } from '../context.ts';
import type { WorkFact } from '../outcome.ts';
import type { StopReason } from '../reason.ts';
import { putTogether } from './crossing.ts';
import { type FromThread, hrtimeMs, STOP_KINDS, type StopMessage, type ThreadStart } from './thread-protocol.ts';
import type { Work } from './work.ts';

export interface ThreadOptions {
  /** What `import()` takes: a URL or a package's name. */
  readonly module: string;
  readonly export: string;
  /** Must be cloneable (HTML's structured clone). */
  readonly args: unknown;
  readonly onProgress: (progress: Progress) => void;
}

const ENTRY = new URL('./thread-entry.js', import.meta.url);

/**
 * Runs the function in a thread that belongs to `call` and ends with it.
 *
 * @returns what the function returned; rejects with what it threw, with the stop's reason when the thread was ended
 *   for that or the call was stopped already, or with an error that says how the thread went down
 */
export function runInThread(call: Call, options: ThreadOptions): Promise<unknown> {
  // No thread is started after the stop or the answer: the ladder may be done, and nothing would end it.
  if (call.reason !== undefined) return Promise.reject(call.reason);
  if (call.state !== 'running') {
    return Promise.reject(new Error(`estop: ${call.what} is not running, so no thread can be started for it`));
  }
  return new Promise((resolve, reject) => {
    call.adopt(new Thread(call, options, resolve, reject));
  });
}

class Thread implements Work {
  readonly kind = 'thread';
  readonly listens = true;
  readonly ended: Promise<void>;
  readonly #worker: Worker;
  readonly #stopFlag = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  #exited = false;

  constructor(call: Call, options: ThreadOptions, resolve: (value: unknown) => void, reject: (error: unknown) => void) {
    const left = call.remaining();
    this.#worker = new Worker(ENTRY, {
      workerData: {
        module: options.module,
        export: options.export,
        args: options.args,
        what: call.what,
        stopFlag: this.#stopFlag,
        deadlineAt: left === Infinity ? null : hrtimeMs() + left,
      } satisfies ThreadStart,
      // The process's stdout may be a protocol's: what a tool prints must not get in between its frames.
      stdout: true,
      stderr: true,
      name: call.what,
    });
    this.#worker.stdout.on('data', toStderr);
    this.#worker.stderr.on('data', toStderr);
    this.#worker.on('message', (message: FromThread) => {
      if (message.type === 'progress') return options.onProgress(message.progress);
      if (message.type === 'returned') resolve(message.value);
      else reject(putTogether(message.error));
    });
    this.#worker.on('messageerror', reject);
    this.#worker.on('error', reject);
    this.ended = new Promise((ended) => {
      this.#worker.once('exit', (code) => {
        this.#exited = true;
        // A promise settles once: this counts only when the thread went before it had an answer.
        reject(
          call.reason ?? new Error(`estop: the thread of ${call.what} exited with code ${code} before it returned`),
        );
        ended();
      });
    });
  }

  get fact(): WorkFact {
    return this.#exited ? 'ended' : 'unknown';
  }

  signal(reason: StopReason): void {
    Atomics.store(new Int32Array(this.#stopFlag), 0, STOP_KINDS.indexOf(reason.kind) + 1);
    this.#worker.postMessage({
      type: 'stop',
      kind: reason.kind,
      message: reason.message,
      ...(reason.by && { by: reason.by }),
      ...(reason.timeoutMs !== undefined && { timeoutMs: reason.timeoutMs }),
    } satisfies StopMessage);
  }

  end(): undefined {
    // Its promise is not what counts: it has been seen to settle before the exit event.
    void this.#worker.terminate();
  }
}

function toStderr(chunk: Buffer): void {
  process.stderr.write(chunk);
}
