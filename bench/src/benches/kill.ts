/**
 * What a kill leaves behind, and how long it takes: of each shape that work takes, by estop and by what others use.
 *
 * All is seen from outside, by a process that neither started the work nor ends it. Everybody kills at once: estop
 * without a grace, the others with SIGKILL. estop sends SIGTERM first all the same; where that was not enough, its time
 * is from its first SIGKILL, as theirs is. The peer of a row is the quickest of those that never left anything.
 */
import { readdirSync } from 'node:fs';
import type { Bench } from '../bench.ts';
import type { KillerName } from '../killers/all.ts';
import { amountRow, median, type Row, ratioRow, unknownRow } from '../row.ts';
import type { Killed } from '../sides/kill.ts';
import { type Rounds, takeTurns } from '../sides.ts';

export const kill: Bench = {
  name: 'kill',
  async run(quick) {
    const rounds = quick
      ? { starts: 1, rounds: 1, warmUp: 0, count: 2 }
      : { starts: 1, rounds: 7, warmUp: 1, count: 99 };
    const processes = await killed(['estop', 'tree-kill', 'execa'], 'processes', rounds);
    const threads = await killed(['estop', 'workerpool', 'piscina'], 'threads', rounds);
    return [...processes, ...threads].flatMap(rowsOf);
  },
};

/** ms, of our own figure. */
const TARGETS: Readonly<Record<string, number>> = { 'tree of 100 deaf to SIGTERM': 50, 'thread: spin': 10 };

/** One shape, killed by everybody: of one round at one index. */
interface Compared {
  readonly shape: string;
  readonly unit: string;
  readonly ours: readonly Killed[];
  readonly theirs: ReadonlyMap<string, readonly Killed[]>;
}

async function killed(
  names: readonly KillerName[],
  what: 'processes' | 'threads',
  rounds: Rounds,
): Promise<Compared[]> {
  const sides = names.map((name) => [name, { script: 'kill', args: [name, what] }] as const);
  const figures = await takeTurns<string, Record<string, Killed>>(Object.fromEntries(sides), rounds);
  const of = (name: string, shape: string) => (figures[name] ?? []).map((round) => round[shape] as Killed);
  const [ours = '', ...theirs] = names;
  return Object.keys(figures[ours]?.[0] ?? {}).map((shape) => ({
    shape: what === 'threads' ? `thread: ${shape}` : shape,
    unit: what,
    ours: of(ours, shape),
    theirs: new Map(theirs.map((name) => [name, of(name, shape)])),
  }));
}

function rowsOf({ shape, unit, ours, theirs }: Compared): Row[] {
  const [least] = [...theirs].sort(([, a], [, b]) => mostLeft(a) - mostLeft(b));
  const left = amountRow(
    {
      name: `kill, ${shape}: left`,
      unit,
      target: 0,
      ...(least && { peer: { name: least[0], value: mostLeft(least[1]) } }),
    },
    mostLeft(ours),
  );
  return [left, timeRow({ shape, unit, ours, theirs })];
}

function timeRow({ shape, ours, theirs }: Compared): Row {
  const name = `kill, ${shape}`;
  if (mostLeft(ours) > 0) return unknownRow(name, 'something is left');
  const fromKill = ours.flatMap(({ fromKillMs }) => fromKillMs ?? []);
  const isFromKill = fromKill.length === ours.length && fromKill.every((ms) => ms >= 0);
  const times = isFromKill ? fromKill : timesOf(ours);
  const note = [
    `worst of ${ours.length} ${worst(times)}`,
    isFromKill
      ? `from the first SIGKILL (from the request ${short(median(timesOf(ours)))}, worst ${worst(timesOf(ours))})`
      : '',
    ...[...theirs].map(([peer, killed]) => `${peer} ${inShort(killed)}`),
    `it says "${[...new Set(ours.map(({ said }) => said))].join('", "')}"`,
    `${processCount()} processes on the machine`,
  ]
    .filter((part) => part !== '')
    .join('; ');
  const init = { name: isFromKill ? `${name}, from SIGKILL` : name, unit: 'ms', note };
  const [best] = [...theirs]
    .filter(([, killed]) => mostLeft(killed) === 0)
    .map(([peerName, killed]) => ({ peerName, times: timesOf(killed) }))
    .sort((a, b) => median(a.times) - median(b.times));
  const target = TARGETS[shape];
  if (target !== undefined) {
    const peer = best && { name: best.peerName, value: median(best.times) };
    return amountRow({ ...init, target, ...(peer && { peer }) }, median(times));
  }
  if (best === undefined) return amountRow(init, median(times));
  return ratioRow({ ...init, target: 1, peerName: best.peerName }, times, best.times);
}

function mostLeft(killed: readonly Killed[]): number {
  return Math.max(...killed.map(({ left }) => left));
}

function timesOf(killed: readonly Killed[]): number[] {
  return killed.flatMap(({ ms }) => ms ?? []);
}

function inShort(killed: readonly Killed[]): string {
  const most = mostLeft(killed);
  if (most > 0) return `left ${most}`;
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
