/**
 * The sides of a comparison: processes of their own, side by side in one run, that take turns.
 *
 * Each is started once and then asked for one round after the other. In every round all sides are asked, each time in
 * another order, and only one works at a time: what disturbs a round is likely to disturb all of it. Does not make a
 * noisy machine quiet; the row of a side against itself says how noisy it is.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Answer, Ask } from './sides/answering.ts';
import { turned } from './turned.ts';

export interface SideInit {
  /** A file in `sides/`, without its ending. */
  readonly script: string;
  readonly args?: readonly string[];
  /** For node itself. */
  readonly execArgv?: readonly string[];
}

export interface Rounds {
  /**
   * How often all sides are started anew. What a process has made of the same code (its optimizations, the layout of
   * its memory) stays with it, and can be worth some percent; one start alone would take that for a difference.
   */
  readonly starts: number;
  /**
   * How many rounds of a start count, and how many are run before, and do not: until both sides are as fast as they
   * get, which for whole calls takes thousands of them, and which the sides may reach at different times.
   */
  readonly rounds: number;
  readonly warmUp: number;
  /** How much a side does in a round. */
  readonly count: number;
}

/** A side cannot do what it was asked for: its row is not measured, and says this. */
export class NotMeasured extends Error {}

/** @returns each side's own figure of each round: of one round at one index */
export async function takeTurns<Name extends string, Value = number>(
  inits: Readonly<Record<Name, SideInit>>,
  rounds: Rounds,
): Promise<Record<Name, Value[]>> {
  const names = Object.keys(inits) as Name[];
  const figures = Object.fromEntries(names.map((name) => [name, [] as Value[]])) as Record<Name, Value[]>;
  for (let start = 0; start < rounds.starts; start += 1) {
    const more = await startOnce<Name, Value>(inits, rounds);
    for (const name of names) figures[name].push(...more[name]);
  }
  return figures;
}

async function startOnce<Name extends string, Value>(
  inits: Readonly<Record<Name, SideInit>>,
  { rounds, warmUp, count }: Rounds,
): Promise<Record<Name, Value[]>> {
  const names = Object.keys(inits) as Name[];
  const figures = Object.fromEntries(names.map((name) => [name, [] as Value[]])) as Record<Name, Value[]>;
  const sides = new Map(names.map((name) => [name, new Side(inits[name])]));
  try {
    for (let round = -warmUp; round < rounds; round += 1) {
      for (const name of turned(names, round + warmUp)) {
        const value = await sides.get(name)?.round(count);
        if (round >= 0) figures[name].push(value as Value);
      }
    }
    return figures;
  } finally {
    await Promise.all([...sides.values()].map((side) => side.end()));
  }
}

class Side {
  readonly #script: string;
  readonly #process: ChildProcess;
  readonly #exited: Promise<unknown>;

  constructor({ script, args = [], execArgv = [] }: SideInit) {
    this.#script = script;
    this.#process = fork(fileURLToPath(new URL(`./sides/${script}.js`, import.meta.url)), args, {
      execArgv: [...execArgv],
      // stdout is for the rows.
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#exited = once(this.#process, 'exit');
  }

  /** @throws NotMeasured when the side says that it cannot; Error when it failed or is gone */
  async round(count: number): Promise<unknown> {
    const answered = once(this.#process, 'message');
    const exited = this.#exited.then(() => undefined);
    this.#process.send({ count } satisfies Ask);
    const [answer] = ((await Promise.race([answered, exited])) ?? []) as [Answer?];
    if (answer === undefined) throw new Error(`the side ${this.#script} is gone: ${this.#howItEnded()}`);
    if ('cannot' in answer) throw new NotMeasured(answer.cannot);
    if ('failed' in answer) throw new Error(`the side ${this.#script} failed: ${answer.failed}`);
    return answer.value;
  }

  async end(): Promise<void> {
    if (this.#process.connected) this.#process.disconnect();
    await this.#exited;
  }

  #howItEnded(): string {
    return this.#process.signalCode ?? `exit code ${this.#process.exitCode}`;
  }
}
