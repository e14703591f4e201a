/** Many jobs queued at once, ten of them running: through the slots, or through p-queue. Arguments: ours | p-queue. */
import { Engine } from '@estop/server/core';
import PQueue from 'p-queue';
import { answerRounds, Cannot, usEach } from './answering.ts';

const CONCURRENCY = 10;
const SCOPES = 20;

const [, , which] = process.argv;
const scopes = Array.from({ length: SCOPES }, (_, n) => `connection:${n}`);
const job = async (): Promise<void> => {};

answerRounds(async (count) => {
  if (which === 'ours') await checkThatCallsWait();
  return usEach(count, () => (which === 'ours' ? ours(count) : theirs(count)));
});

async function ours(count: number): Promise<void> {
  const engine = newEngine(CONCURRENCY, count);
  const done: Promise<void>[] = [];
  for (let id = 0; id < count; id += 1) done.push(call(engine, id).run(job, { timeoutMs: Infinity }));
  await Promise.all(done);
}

async function theirs(count: number): Promise<void> {
  const queue = new PQueue({ concurrency: CONCURRENCY });
  const done: Promise<void>[] = [];
  for (let n = 0; n < count; n += 1) done.push(queue.add(job));
  await Promise.all(done);
}

function newEngine(maxConcurrency: number, maxQueue: number): Engine {
  return new Engine({ maxConcurrency, maxQueue });
}

function call(engine: Engine, id: number): ReturnType<Engine['begin']> {
  return engine.begin({ scope: scopes[id % SCOPES] as string, id, method: 'tools/call', name: 'job' });
}

/** An engine that knows nothing of slots would run all at once, and be fast. */
async function checkThatCallsWait(): Promise<void> {
  const engine = newEngine(1, 10);
  let running = 0;
  let most = 0;
  const overlapping = async (): Promise<void> => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
  };
  await Promise.all([0, 1, 2].map((id) => call(engine, id).run(overlapping, { timeoutMs: Infinity })));
  if (most > 1) throw new Cannot('the engine has no slots');
}
