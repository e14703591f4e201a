/**
 * A million calls, or as many as it is told, in waves: queued, cancelled at random while they wait and while they run,
 * past their deadlines, with nested calls and recorded cancels. Says what is left of them.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { cancelled, Engine } from '@estop/server/core';

const CALLS = Number(process.argv[2] ?? 1_000_000);
const WAVE = 500;
const WARM = CALLS / 10;

const engine = new Engine({
  maxConcurrency: 200,
  maxConcurrencyPerScope: 80,
  maxQueue: 300,
  graceMs: 20,
  recorded: { ttlMs: 1 },
});
const mutex = engine.slots.mutex('db');
const limit = engine.slots.limit('read', 100);
const scopes = ['connection:1', 'session:1', 'principal:1', 'connection:2'];
const ended = {};
const stops = {};
const pending = new Set();
let made = 0;

// A generator of its own, so that each run is the same: xorshift.
let state = 20_261_130;
function below(end) {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) % end;
}

const handlers = [
  () => 'value',
  async () => turn(),
  () => {
    throw new Error('mine');
  },
  (call) => new Promise((_, reject) => void call.onStop(reject)),
  (call) => new Promise((_, reject) => call.signal.addEventListener('abort', () => reject(call.signal.reason))),
  async (call) => {
    while (!call.isCancelled) await turn();
    call.throwIfStopped();
  },
  // Deaf to its stop, for a while.
  () => new Promise((resolve) => setTimeout(resolve, 5)),
  async (call) => {
    const nested = engine.nest(call, { method: 'tools/call', name: 'nested' });
    return nested.run(handlers[below(3)], { timeoutMs: 1_000, gate: call.gate });
  },
];

function start() {
  made += 1;
  const scope = scopes[below(scopes.length)];
  const id = below(WAVE);
  if (below(50) === 0) engine.registry.record(scope, below(WAVE), cancelled('library'));
  const call = engine.begin({ scope, id, method: 'tools/call', name: 'soak' });
  // Most are short; those that wait for their stop have a deadline or are cancelled below.
  const kind = below(10) > 0 ? below(2) : below(handlers.length);
  const options = {
    timeoutMs: kind >= 3 && kind <= 5 ? 1 + below(20) : 1_000,
    // What keeps a mutex for long keeps all of its kind waiting: only a few do.
    gate: below(kind < 3 ? 10 : 100) === 0 ? mutex : below(3) === 0 ? limit : undefined,
    resetTimeoutOnProgress: below(2) === 0,
  };
  const done = call
    .run(() => handlers[kind](call), options)
    .catch(() => {})
    .then(() => {
      pending.delete(done);
      stops[call.reason?.kind ?? 'none'] = (stops[call.reason?.kind ?? 'none'] ?? 0) + 1;
      ended[call.state] = (ended[call.state] ?? 0) + 1;
    });
  pending.add(done);
  if (below(4) === 0) engine.registry.cancel(scope, id, cancelled('client'));
  if (below(4) === 0) engine.registry.cancel(scopes[below(scopes.length)], below(WAVE), cancelled('client'));
  call.progressed();
}

async function settled() {
  await Promise.all(pending);
  while (engine.stats().inFlight > 0) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function heap() {
  await settled();
  engine.cleanup();
  for (let round = 0; round < 4; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    globalThis.gc();
  }
  return process.memoryUsage().heapUsed;
}

async function callsUpTo(count) {
  while (made < count) {
    for (let one = 0; one < WAVE && made < count; one += 1) start();
    await turn();
    while (pending.size > 2 * WAVE) await turn();
  }
}

await callsUpTo(WARM);
const warm = await heap();
await callsUpTo(CALLS);
const end = await heap();
await new Promise((resolve) => setTimeout(resolve, 5));
engine.cleanup();
const { slots, registry } = engine;
const places = { running: slots.running, waiting: slots.waiting, abandoned: slots.abandoned, scopes: slots.scopes };
const timers = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
process.stdout.write(
  JSON.stringify({ made, grown: end - warm, timers, stats: engine.stats(), rows: registry.size, places, stops, ended }),
);
