/** A process whose stdout belongs to a protocol: only this one line may be on it. */
import { Engine, runInThread } from '@estop/server/core';

const call = new Engine().begin({ scope: 'connection:1', id: 1, method: 'tools/call', name: 'print' });
const module = new URL('./thread-tools.mjs', import.meta.url).href;
const result = await call.run(
  () => runInThread(call, { module, export: 'print', args: { text: 'from the thread' }, onProgress: () => {} }),
  { timeoutMs: Infinity },
);
process.stdout.write(`${JSON.stringify(result)}\n`);
