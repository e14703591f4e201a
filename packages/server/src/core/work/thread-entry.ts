/**
 * Runs in the thread: imports the module, runs the function, sends back what came of it.
 *
 * An exception outside the function's own promise ends the thread, and with it this call alone.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { CallContext, Progress } from '../context.ts';
import { StopReason } from '../reason.ts';
import { createController } from '../signal.ts';
import { takeApart } from './crossing.ts';
import { type FromThread, hrtimeMs, STOP_KINDS, type StopMessage, type ThreadStart } from './thread-protocol.ts';

const start = workerData as ThreadStart;
const stopFlag = new Int32Array(start.stopFlag);
const controller = createController();
let reason: StopReason | undefined;

parentPort?.on('message', (message: StopMessage) => {
  if (message.type !== 'stop') return;
  stop(new StopReason(message.kind, message.message, message));
});

/** The flag outruns the message; where it is seen first, the kind is all that is known. */
function look(): StopReason | undefined {
  const raised = Atomics.load(stopFlag, 0);
  if (raised !== 0 && reason === undefined) {
    const kind = STOP_KINDS[raised - 1] ?? 'cancelled';
    stop(new StopReason(kind, `${start.what} was stopped: ${kind}`));
  }
  return reason;
}

function stop(why: StopReason): void {
  if (reason !== undefined) return;
  reason = why;
  controller.abort(why);
}

const context: CallContext = {
  signal: controller.signal,
  get isCancelled() {
    return look() !== undefined;
  },
  throwIfStopped() {
    const why = look();
    if (why !== undefined) throw why;
  },
  remaining() {
    if (look() !== undefined) return 0;
    return start.deadlineAt === null ? Infinity : Math.max(0, start.deadlineAt - hrtimeMs());
  },
  progress(progress: Progress) {
    if (look() === undefined) send({ type: 'progress', progress: { ...progress } });
  },
  get extra() {
    return context;
  },
};

function send(message: FromThread): void {
  try {
    parentPort?.postMessage(message);
  } catch (error) {
    // Only what cannot be cloned comes here.
    if (message.type === 'progress') return;
    const text = `estop: what ${start.what} returned cannot leave its thread: ${(error as Error).message}`;
    parentPort?.postMessage({ type: 'threw', error: takeApart(new TypeError(text)) } satisfies FromThread);
  }
}

async function run(): Promise<unknown> {
  const loaded = (await import(start.module)) as Record<string, unknown>;
  const fn = loaded[start.export];
  if (typeof fn !== 'function') {
    throw new TypeError(`estop: ${start.what}: ${start.module} exports no function "${start.export}"`);
  }
  look();
  return fn(start.args, context);
}

/** The thread is ended as soon as it has answered: what it printed has to be across by then. */
async function printed(): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) {
    if (stream.writableLength > 0 && stream.writable) await new Promise((done) => stream.write('', done));
  }
}

run()
  .then(
    (value): FromThread => ({ type: 'returned', value }),
    (error: unknown): FromThread => ({ type: 'threw', error: takeApart(error) }),
  )
  .then(async (message) => {
    await printed();
    send(message);
  });
