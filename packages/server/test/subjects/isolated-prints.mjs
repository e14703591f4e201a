/** A process whose stdout belongs to a protocol: only this one line may be on it. */
import { Engine, runInProcess, runInThread } from '@estop/server/core';

const call = new Engine().begin({ scope: 'connection:1', id: 1, method: 'tools/call', name: 'print' });
const module = new URL('./isolated-functions.mjs', import.meta.url).href;
const fn = { module, export: 'print', args: { text: 'from the other side' }, onProgress: () => {} };
const run = process.env.KIND === 'thread' ? runInThread : runInProcess;
const result = await call.run(() => run(call, fn, process.env.KIND === 'thread' ? undefined : {}), {
  timeoutMs: Infinity,
});
process.stdout.write(`${JSON.stringify(result)}\n`);
