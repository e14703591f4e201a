/** Functions for threads, each with one habit. What they report as progress is how a test knows where they are. */
import { setTimeout as sleep } from 'node:timers/promises';

export function add({ a, b }) {
  return a + b;
}

export function contextIs(_args, context) {
  return {
    same: context.extra === context,
    aborted: context.signal.aborted,
    isCancelled: context.isCancelled,
    remaining: context.remaining(),
  };
}

export function spin(_args, context) {
  context.progress({ progress: 1, message: 'spinning' });
  for (;;);
}

/** Never yields, and ends by itself when it sees the flag. */
export function askUntilStopped(_args, context) {
  context.progress({ progress: 1, message: 'asking' });
  while (!context.isCancelled);
  try {
    context.throwIfStopped();
  } catch (reason) {
    return { kind: reason.kind, name: reason.name, remaining: context.remaining(), aborted: context.signal.aborted };
  }
}

export async function awaitSignal(_args, context) {
  context.progress({ progress: 1, message: 'awaiting' });
  const alive = setInterval(() => {}, 1_000);
  await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
  clearInterval(alive);
  const { kind, by, message, timeoutMs } = context.signal.reason;
  context.progress({ progress: 2, message: 'after the stop' });
  return { kind, by, message, timeoutMs };
}

/** A careless listener in a thread must not take the thread down before it can answer. */
export async function throwInListener(_args, context) {
  context.signal.addEventListener('abort', () => {
    throw new Error('careless');
  });
  return awaitSignal(_args, context);
}

export function count({ to }, context) {
  for (let n = 1; n <= to; n += 1) context.progress({ progress: n, total: to, message: `${n} of ${to}` });
  return to;
}

export function progressThatCannotLeave(_args, context) {
  context.progress({ progress: 1, message: () => {} });
  context.progress({ progress: 2 });
  return 'returned';
}

class ToolError extends TypeError {
  name = 'ToolError';
  code = -32_042;
  data = { retry: true };
}

export async function fail({ how }) {
  if (how === 'null') throw null;
  if (how === 'string') throw 'a string';
  if (how === 'uncloneable data') throw Object.assign(new Error('with a function'), { data: () => {} });
  throw new ToolError('the tool says no');
}

export async function crash({ how }, context) {
  context.progress({ progress: 1, message: 'about to crash' });
  if (how === 'uncaught exception') {
    setImmediate(() => {
      throw new RangeError('outside of any promise');
    });
  }
  if (how === 'unhandled rejection') void Promise.reject(new RangeError('that nobody handles'));
  if (how === 'process.exit(3)') process.exit(3);
  if (how === 'falls asleep with nothing to wake it') await new Promise(() => {});
  await sleep(2 ** 30);
}

export function uncloneable() {
  return { content: [], onDone: () => {} };
}

export function leaveTimer() {
  setInterval(() => {}, 1_000);
  return 'returned';
}

export function print({ text }) {
  console.log(`console.log: ${text}`);
  process.stdout.write(`stdout.write: ${text}\n`);
  console.error(`console.error: ${text}`);
  return 'printed';
}

export const notAFunction = 7;
