/**
 * Watches one who kills, from outside: what is left of each shape, and how long it took. Arguments: its name, and
 * `processes` or `threads`. A round is all shapes, or the first `count` of them.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { newMarker, SHAPES, type Shape } from '../shapes/shapes.ts';
import { killAll } from '../shapes/survivors.ts';
import { untilGone, untilUp } from '../shapes/watching.ts';
import { answerRounds, Cannot } from './answering.ts';
import type { Order, Report } from './killer.ts';

/** What one kill came to. */
export interface Killed {
  /** From the request to the last process's end; `null` when something is left. */
  readonly ms: number | null;
  /** From the killer's first SIGKILL; `null` when there was none to be seen. */
  readonly fromKillMs: number | null;
  /** How many processes, or threads, are left. */
  readonly left: number;
  /** What the killer says of it, if it says anything. */
  readonly said: string | null;
}

/** How long is waited before something is held to be left. */
const WITHIN_MS = 4_000;

const THREADS = ['spin', 'badRegex', 'atomicsWait', 'microtasks'];

const [, , name = '', what] = process.argv;
/** What it has once left something of is not tried again: that would be a wait a round, and change nothing. */
const leaves = new Map<string, Killed>();
if (process.platform !== 'linux') {
  answerRounds(() => {
    throw new Cannot('it looks at /proc, which is not here');
  });
} else {
  const killer = fork(fileURLToPath(new URL('./killer.js', import.meta.url)), [name], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  process.on('exit', () => killer.kill('SIGKILL'));
  const gone = once(killer, 'exit').then(() => undefined);
  const one = { process: killer, gone };
  answerRounds(what === 'threads' ? (count) => killThreads(one, count) : (count) => killShapes(one, count));
}

interface One {
  readonly process: ChildProcess;
  readonly gone: Promise<undefined>;
}

async function killShapes(killer: One, count: number): Promise<Record<string, Killed>> {
  const killed: Record<string, Killed> = {};
  for (const shape of SHAPES.slice(0, count)) {
    killed[shape.name] = leaves.get(shape.name) ?? (await killShape(killer, shape));
  }
  return noted(killed);
}

function noted(killed: Record<string, Killed>): Record<string, Killed> {
  for (const [shape, one] of Object.entries(killed)) if (one.left > 0) leaves.set(shape, one);
  return killed;
}

async function killShape(killer: One, shape: Shape): Promise<Killed> {
  const marker = newMarker();
  const [command, ...args] = shape.command(marker);
  try {
    order(killer, { do: 'start', work: { kind: 'process', command, args } });
    const up = await untilUp(shape, marker);
    order(killer, { do: 'kill' });
    const { left, at } = await untilGone(marker, up, WITHIN_MS, nextTurn);
    return await reported(killer, left.length, at);
  } finally {
    killAll(marker);
  }
}

async function killThreads(killer: One, count: number): Promise<Record<string, Killed>> {
  const killed: Record<string, Killed> = {};
  const directory = mkdtempSync(join(tmpdir(), 'estop-bench-'));
  try {
    for (const thread of THREADS.slice(0, count)) {
      killed[thread] = leaves.get(thread) ?? (await killThread(killer, thread, join(directory, thread)));
    }
    return noted(killed);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function killThread(killer: One, thread: string, announceTo: string): Promise<Killed> {
  order(killer, { do: 'start', work: { kind: 'thread', name: thread, announceTo } });
  if (!(await until(() => existsSync(announceTo), 20_000))) throw new Error(`${name} did not start ${thread}`);
  const task = join('/proc', readFileSync(announceTo, 'utf8'));
  order(killer, { do: 'kill' });
  const isGone = await until(() => !existsSync(task), WITHIN_MS);
  return await reported(killer, isGone ? 0 : 1, process.hrtime.bigint());
}

async function until(holds: () => boolean, ms: number): Promise<boolean> {
  const end = performance.now() + ms;
  while (performance.now() < end) {
    if (holds()) return true;
    await nextTurn();
  }
  return holds();
}

function order(killer: One, order: Order): void {
  killer.process.send(order);
}

async function reported(killer: One, left: number, at: bigint): Promise<Killed> {
  const report = await reportOf(killer, left === 0);
  const since = (from: string | undefined) => (from === undefined ? null : Number(at - BigInt(from)) / 1e6);
  const isGone = left === 0;
  return {
    ms: isGone ? since(report.askedAt) : null,
    fromKillMs: isGone ? since(report.firstKillAt) : null,
    left,
    said: report.said ?? null,
  };
}

async function reportOf(killer: One, isDone: boolean): Promise<Report> {
  const answer = once(killer.process, 'message');
  order(killer, { do: 'report', waitMs: isDone ? WITHIN_MS : 0 });
  const [report] = ((await Promise.race([answer, killer.gone])) ?? []) as [Report?];
  if (report === undefined) throw new Error(`${name} is gone itself`);
  return report;
}
