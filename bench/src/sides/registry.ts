/**
 * Tracks and untracks, while `LIVE` others are in flight. Arguments: ours | map, LIVE.
 *
 * Ours has its rows as a server has them, a hundred to a scope; the map has one flat table, keyed by integers, of the
 * same objects, which is as good as a map can be.
 */
import { type Call, Engine } from '@estop/server/core';
import { answerRounds, usEach } from './answering.ts';

const ROWS_IN_A_SCOPE = 100;
const SAMPLES = 1_000;

const [, , which, live = '0'] = process.argv;
const engine = new Engine();
const scopes = Array.from({ length: Math.max(1, Number(live) / ROWS_IN_A_SCOPE) }, (_, n) => `connection:${n}`);

/** The n-th call of `used` of the scopes, in turn: neighbours in time are of different scopes. */
function begin(n: number, used: number): Call {
  const scope = scopes[Math.floor((n % used) * (scopes.length / used))] as string;
  return engine.begin({ scope, id: Math.floor(n / used), method: 'tools/call', name: 'echo' });
}

const calls: Call[] = [];
for (let n = 0; n < Number(live); n += 1) calls.push(begin(n, scopes.length));
const samples: Call[] = [];
const used = Math.min(scopes.length, SAMPLES);
for (let n = 0; n < SAMPLES; n += 1) samples.push(begin(ROWS_IN_A_SCOPE * used + n, used));
for (const call of samples) engine.registry.untrack(call);

const { registry } = engine;
const map = new Map<number, Call>();
if (which === 'map') {
  for (const [n, call] of calls.entries()) {
    registry.untrack(call);
    map.set(n, call);
  }
}

function ours(count: number): void {
  for (let done = 0; done < count; done += SAMPLES) {
    for (const call of samples) {
      registry.track(call);
      registry.untrack(call);
    }
  }
}

function theirs(count: number): void {
  for (let done = 0; done < count; done += SAMPLES) {
    for (let n = 0; n < SAMPLES; n += 1) {
      map.set(-1 - n, samples[n] as Call);
      map.delete(-1 - n);
    }
  }
}

answerRounds((count) => usEach(count, () => (which === 'map' ? theirs(count) : ours(count))));
