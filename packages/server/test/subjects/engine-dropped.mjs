/** Drops an engine that was not closed, and looks whether it is collected although its janitor still has its timer. */
import { Engine } from '@estop/server/core';

const timers = new Set();
const clock = {
  now: () => performance.now(),
  setTimer(run, ms) {
    const timer = { run, ms };
    timers.add(timer);
    return timer;
  },
  clearTimer: (timer) => void timers.delete(timer),
  unref: (timer) => timer,
  ref: (timer) => timer,
};

function drop() {
  const engine = new Engine({ clock });
  const call = engine.begin({ scope: 'connection:1', id: 1, method: 'tools/call', name: 'read' });
  engine.registry.record('connection:1', 2, new Error('recorded'));
  return { engine: new WeakRef(engine), done: call.run(() => 'value', { timeoutMs: 50_000 }) };
}

const { engine, done } = drop();
await done;
for (let turn = 0; turn < 20 && engine.deref() !== undefined; turn += 1) {
  await new Promise((resolve) => setTimeout(resolve, 5));
  globalThis.gc();
}
const collected = engine.deref() === undefined;
for (const timer of [...timers]) {
  timers.delete(timer);
  timer.run();
}
process.stdout.write(JSON.stringify({ collected, timers: timers.size }));
