/** Functions for threads and processes, each with one habit. What they report as progress is how a test knows where they are. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

export default (data) => ({ default: data });

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

/** A careless listener must not take the thread down before it can answer. */
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

export function logs(_args, context) {
  context.log('info', { n: 1 });
  context.log('info', () => {});
  context.log('error', 'two', 'the-logger');
  return 'logged';
}

const shown = ({ name, message, code, data }) => ({ name, message, ...(code && { code }), ...(data && { data }) });

export function asks({ uncloneable }, context) {
  return context.elicitInput(uncloneable ? { message: () => {} } : {}).catch(shown);
}

export async function asksTwice(_args, context) {
  const sampled = context.requestSampling({ maxTokens: 1 }).catch(shown);
  const elicited = await context.elicitInput({ message: 'Which?' }, { timeout: 5_000 });
  return { elicited, error: await sampled };
}

export async function asksThroughStop(_args, context) {
  const shown = ({ kind, by, message }) => ({ kind, by, message });
  const first = await context.elicitInput({}).catch(shown);
  context.log('info', 'after the stop');
  return [first, await context.elicitInput({}).catch(shown)];
}

export async function takesBack(_args, context) {
  const own = new AbortController();
  const asking = context.elicitInput({}, { signal: own.signal });
  own.abort(new Error('changed my mind'));
  return asking.catch(shown);
}

export function asksAndReturns(_args, context) {
  void context.elicitInput({});
  return 'returned';
}

const FILLINGS = {
  'a heap': () => Array.from({ length: 131_072 }, Math.random),
  Buffers: () => Buffer.alloc(2 ** 20, 1),
  'small Buffers': () => Array.from({ length: 256 }, () => Buffer.alloc(4_096, 1)),
  'one large Buffer': () => Buffer.alloc(2 ** 29, 1),
};

export function fillMemory({ how, toMb = Infinity }) {
  const kept = [];
  while (kept.length < toMb) kept.push(FILLINGS[how]());
  return 'filled';
}

/** One in the group of this process, and one in a session of its own; tells both by their pids. */
export async function startChildren({ returns }, context) {
  for (const detached of [false, true]) {
    const child = spawn('sleep', ['1000'], { stdio: 'ignore', detached });
    await once(child, 'spawn');
    context.progress({ progress: child.pid, ...(detached && { message: 'started' }) });
  }
  return returns ? 'returned' : new Promise(() => {});
}

export function environment() {
  return Object.keys(process.env).filter((name) => name.startsWith('ESTOP_') && !/^ESTOP_(TEST|REQUIRE)_/.test(name));
}

export const notAFunction = 7;
