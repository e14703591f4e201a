/** Subscribers that throw, on every channel; `caught`: the process hears of uncaught exceptions and lives on. */
import { cancelled, channels, Engine } from '@estop/server/core';

const uncaught = [];
if (process.argv[2] === 'caught') process.on('uncaughtException', (error) => uncaught.push(error.message));
let heard = 0;
for (const channel of Object.values(channels)) {
  channel.subscribe(() => {
    throw new Error(`careless: ${channel.name}`);
  });
  channel.subscribe(() => (heard += 1));
}

const engine = new Engine();
const begin = (id) => engine.begin({ scope: 'connection:1', id, method: 'tools/call', name: 'read' });
const answers = [];
const run = (call, handler) =>
  call.run(handler, { timeoutMs: Infinity }).then(
    (value) => answers.push(value),
    (error) => answers.push(error.kind),
  );

const well = begin(1);
const stopped = begin(2);
const refused = begin(3);
const all = [
  run(well, async () => 'value'),
  run(stopped, () => new Promise((resolve) => void stopped.onStop(() => resolve()))),
];
stopped.stop(cancelled('client'));
refused.stop(cancelled('client'));
all.push(run(refused, () => 'never'));
engine.cleanup();
await Promise.all(all);
await new Promise((resolve) => setImmediate(resolve));
const states = [well, stopped, refused].map(({ state }) => state);
process.stdout.write(
  JSON.stringify({
    answers: answers.sort(),
    states,
    inFlight: engine.stats().inFlight,
    heard,
    uncaught: uncaught.length,
  }),
);
