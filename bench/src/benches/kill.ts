/**
 * What a kill leaves behind, and how long it takes: of each shape that work takes, by estop and by what others use.
 *
 * All is seen from outside, by a process that neither started the work nor ends it, from the request to the last one's
 * end. Everybody kills at once: estop without a grace and without time between its two signals, the others with SIGKILL.
 * The peer of a row is the quickest of those that never left anything of that shape.
 */
import { readdirSync } from 'node:fs';
import type { Bench } from '../bench.ts';
import type { KillerName } from '../killers/all.ts';
import { amountRow, median, type Row, ratioRow, unknownRow } from '../row.ts';
import { SHAPES } from '../shapes/shapes.ts';
import type { Killed } from '../sides/kill.ts';
import { type Rounds, takeTurns } from '../sides.ts';

export const kill: Bench = {
  name: 'kill',
  async run(quick) {
    const rounds = quick
      ? { starts: 1, rounds: 1, warmUp: 0, count: 2 }
      : { starts: 1, rounds: 7, warmUp: 1, count: 99 };
    const processes = await killed(['estop', 'estop, cgroup', 'tree-kill', 'execa'], 'processes', rounds);
    const threads = await killed(['estop', 'workerpool', 'piscina'], 'threads', rounds);
    return [...processes.flatMap(rowsOf), inCgroupRow(processes), ...threads.flatMap(rowsOf)];
  },
};

/** ms, of our own figure, where the target is not a peer's. */
const THREAD_TARGET_MS = 10;
/** ms from the first SIGKILL. */
const FROM_KILL_TARGETS_MS: Readonly<Record<string, number>> = { 'tree of 100 deaf to SIGTERM': 50 };
const TRACELESS = new Set(SHAPES.filter(({ traceless }) => traceless).map(({ name }) => name));

/** One shape, killed by everybody: of one round at one index. */
interface Compared {
  readonly shape: string;
  readonly what: 'processes' | 'threads';
  readonly ours: readonly Killed[];
  /** Ours once more, where there are control groups; empty for threads. */
  readonly inCgroup: readonly Killed[];
  readonly theirs: ReadonlyMap<string, readonly Killed[]>;
}

async function killed(
  names: readonly KillerName[],
  what: 'processes' | 'threads',
  rounds: Rounds,
): Promise<Compared[]> {
  const sides = Object.fromEntries(names.map((name) => [name, { script: 'kill', args: [name, what] }]));
  const figures = await takeTurns<string, Record<string, Killed>>(sides, rounds);
  const of = (name: string, shape: string) => (figures[name] ?? []).map((round) => round[shape] as Killed);
  const peers = names.filter((name) => !name.startsWith('estop'));
  return Object.keys(figures['estop']?.[0] ?? {}).map((shape) => ({
    shape: what === 'threads' ? `thread: ${shape}` : shape,
    what,
    ours: of('estop', shape),
    inCgroup: of('estop, cgroup', shape),
    theirs: new Map(peers.map((name) => [name, of(name, shape)])),
  }));
}

function rowsOf(compared: Compared): Row[] {
  const { shape, ours } = compared;
  const most = FROM_KILL_TARGETS_MS[shape];
  const fromKill = ours.flatMap(({ fromKillMs }) => fromKillMs ?? []);
  if (most === undefined || fromKill.length === 0) return [leftRow(compared), timeRow(compared)];
  const init = { name: `kill, ${shape}: from the first SIGKILL`, unit: 'ms', target: most };
  return [
    leftRow(compared),
    timeRow(compared),
    amountRow({ ...init, note: `worst ${worst(fromKill)}` }, median(fromKill)),
  ];
}

function leftRow({ shape, what, ours, theirs }: Compared): Row {
  const [least] = [...theirs].sort(([, a], [, b]) => mostLeft(a) - mostLeft(b));
  const peer = least && { name: least[0], value: mostLeft(least[1]) };
  const note = [...theirs].map(([name, killed]) => `${name} leaves ${mostLeft(killed)}`).join(', ');
  const init = { name: `kill, ${shape}: left`, unit: what, note, ...(peer && { peer }) };
  // It gives nothing away, so it gets away: only a control group holds it, and has a row of its own.
  return amountRow(TRACELESS.has(shape) ? init : { ...init, target: 0 }, mostLeft(ours));
}

function timeRow({ shape, what, ours, theirs }: Compared): Row {
  const name = `kill, ${shape}`;
  if (mostLeft(ours) > 0) {
    if (!TRACELESS.has(shape)) return unknownRow(name, 'something is left');
    return { ...unknownRow(name, 'it gets away where there is no control group'), holds: null };
  }
  const times = timesOf(ours);
  const peers = [...theirs].map(([peer, killed]) => `${peer} ${inShort(killed)}`);
  const note = `worst of ${ours.length} ${worst(times)}; ${peers.join(', ')}; ${processCount()} processes on the machine`;
  const init = { name, unit: 'ms', note };
  const [best] = [...theirs]
    .filter(([, killed]) => mostLeft(killed) === 0)
    .map(([peerName, killed]) => ({ peerName, times: timesOf(killed) }))
    .sort((a, b) => median(a.times) - median(b.times));
  if (what === 'threads') {
    const peer = best && { name: best.peerName, value: median(best.times) };
    return amountRow({ ...init, target: THREAD_TARGET_MS, ...(peer && { peer }) }, median(times));
  }
  if (best === undefined) return amountRow(init, median(times));
  return ratioRow({ ...init, target: 1, peerName: best.peerName }, times, best.times);
}

/** Everything at once, those that get away otherwise included. */
function inCgroupRow(compared: readonly Compared[]): Row {
  const name = 'kill, all shapes, in a control group: left';
  const all = compared.flatMap(({ inCgroup }) => inCgroup);
  if (!all.some(({ said }) => said === 'ended')) return unknownRow(name, 'no control group can be made here');
  const slowest = compared.map(({ shape, inCgroup }) => `${shape} ${inShort(inCgroup)}`).join(', ');
  const left = compared.reduce((sum, { inCgroup }) => sum + mostLeft(inCgroup), 0);
  return amountRow({ name, unit: 'processes', target: 0, note: `ms: ${slowest}` }, left);
}

function mostLeft(killed: readonly Killed[]): number {
  return Math.max(...killed.map(({ left }) => left));
}

function timesOf(killed: readonly Killed[]): number[] {
  return killed.flatMap(({ ms }) => ms ?? []);
}

function inShort(killed: readonly Killed[]): string {
  const most = mostLeft(killed);
  if (most > 0) return `leaves ${most}`;
  const times = timesOf(killed);
  return `${short(median(times))} (worst ${worst(times)})`;
}

function worst(times: readonly number[]): string {
  return short(Math.max(...times));
}

function short(ms: number): string {
  return ms.toFixed(1);
}

function processCount(): number {
  return readdirSync('/proc').filter((name) => Number(name) > 0).length;
}
