/**
 * A process with a spare of the kind that is given, which has nothing to do any more. With `kill` it says the spare's
 * pid, and is killed.
 */
import { Engine, NodeProcess, runInProcess, runInThread, Thread } from '@estop/server/core';

const [kind, kill] = process.argv.slice(2);
const module = new URL('./isolated-functions.mjs', import.meta.url).href;
const engine = new Engine();
const started = [];
const spares = engine.spares.keep('spares', 1, () => {
  started.push(kind === 'thread' ? new Thread(module, null) : new NodeProcess(module, null, {}));
  return started.at(-1);
});
if (kill) {
  process.stdout.write(`${started[0].work.child.pid}\n`, () => process.kill(process.pid, 'SIGKILL'));
  await new Promise(() => {});
}

const call = engine.begin({ scope: 'connection:1', id: 1, method: 'tools/call', name: 'add' });
const fn = { module, export: 'add', args: { a: 1, b: 2 }, onProgress: () => {} };
const run = () => (kind === 'thread' ? runInThread(call, fn, spares) : runInProcess(call, fn, {}, spares));
const value = await call.run(run, { timeoutMs: Infinity });
process.stdout.write(`a call had a spare: ${value}\n`);
