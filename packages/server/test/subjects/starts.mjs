/**
 * An engine whose calls start processes, and that is killed while it does so.
 *
 *   node starts.mjs MODE MARK
 *
 * self   SIGKILLs itself in the very turn in which a command was started
 * burst  starts one after the other, for ever, some of which have ended a moment later; says so before the first
 * idle   starts a command right after the reaper was sent home, again and again, and says when one was lost
 * hold   starts one of each shape, and holds them
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const [mode, mark] = process.argv.slice(2);
const LINGER_MS = 1_000;
const SHORT_MS = 2;

if (mode === 'idle') {
  // A second of waiting in each round would be all that it does. Nothing else in the engine waits for as long.
  const real = globalThis.setTimeout;
  globalThis.setTimeout = (run, ms, ...args) => real(run, ms === LINGER_MS ? SHORT_MS : ms, ...args);
}
const { Engine } = await import('@estop/server/core');

const SHAPES = fileURLToPath(new URL('./shapes.sh', import.meta.url));
const engine = new Engine({ cgroups: process.env.CGROUPS !== 'off', graceMs: 0, termMs: 50 });
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Runs what a handler does, as a call of its own. */
function call(handler) {
  const call = engine.begin({ scope: 'here', id: 1, method: 'tools/call', name: mode });
  return call.run(() => handler(call), { timeoutMs: Infinity });
}

const hold = (...args) => call(async (call) => void (await call.spawn(...args).exited));

if (mode === 'self') {
  void call((call) => {
    call.spawn('sleep', [mark]);
    process.kill(process.pid, 'SIGKILL');
  });
}

if (mode === 'burst') {
  process.stdout.write('begins\n');
  for (let round = 0; ; round += 1) {
    void hold('sh', [SHAPES, ['plain', 'daemon', 'traps', 'orphan'][round % 4], mark]);
    if (round % 3 === 0) void hold('true');
    await pause(round % 5);
  }
}

if (mode === 'idle') {
  const rounds = Number(process.argv[4]);
  const reapers = new Set();
  for (let round = 0; round < rounds; round += 1) {
    await call(async (call) => {
      const child = call.spawn('sh', ['-c', 'read line; echo "got $line"', 'sh', mark]);
      reapers.add(reaper());
      // Long enough for one that takes the end of its pipe for that of the process.
      await pause(20);
      child.stdin.write('it\n');
      const { stdout } = await child.output();
      if (stdout !== 'got it\n') throw new Error(`round ${round}: ${JSON.stringify(stdout)}`);
    });
    await engine.laddersDone();
    // At, before and after the moment at which the reaper is sent home.
    await pause(round % (2 * SHORT_MS + 3));
  }
  process.stdout.write(JSON.stringify({ rounds, reapers: reapers.size }));
}

if (mode === 'hold') {
  for (const shape of ['plain', 'setsid', 'daemon', 'deaf', 'tree']) void hold('sh', [SHAPES, shape, mark]);
}

function reaper() {
  return readdirSync('/proc').find((pid) => {
    try {
      const [, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
      return Number(parent) === process.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('reaper.sh');
    } catch {
      return false;
    }
  });
}
