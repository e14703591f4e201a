/**
 * Lives of servers, by chance that comes again: calls of random shapes, each with a fate of its own, and a death for the
 * server. After each life nothing of it may run, seen from outside.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { StdioPeer } from './child.ts';
import { cancelFrame } from './peer.ts';
import { type Random, randomOf } from './random.ts';
import { SHAPE_NAMES, type Shape } from './shapes.ts';
import { gone, marked, newMark, over, reapersOf, signal, sleeping, until } from './survivors.ts';

/** How a call ends, and which tool does that. */
const FATES = {
  'cancelled at once': 'hold',
  cancelled: 'hold',
  'at its deadline': 'brief',
  'ends well, and leaves its processes': 'leave',
  'one of its processes is killed': 'hold',
  'dies with its server': 'hold',
} as const;
type Fate = keyof typeof FATES;
const FATE_NAMES = Object.keys(FATES) as Fate[];

const DEATHS = ['SIGKILL', 'SIGKILL', 'SIGKILL', 'SIGTERM', 'SIGINT', 'SIGTERM, SIGKILL', 'stdin ends'] as const;

/** Lives at once: most of the time they wait for their servers' starts. */
const LANES = 3;
const MOST_CALLS = 12;
/** ms: longer than a command takes to be what it is. */
const LONGEST_PAUSE = 120;
const SERVER = fileURLToPath(new URL('../subjects/work-server.mjs', import.meta.url));

export interface Tally {
  starts: number;
  lives: number;
  /** Whatever came to pass, with how often. */
  readonly of: Record<string, number>;
}

/**
 * @param starts calls that start processes, in all
 * @param cgroups of all servers; default: of every other one
 * @throws with the seed, the life and what was started in it, when something has survived
 */
export async function kills(starts: number, seed: number, cgroups?: 'on' | 'off'): Promise<Tally> {
  const tally: Tally = { starts: 0, lives: 0, of: {} };
  const lane = async (): Promise<void> => {
    while (tally.starts < starts) {
      const number = tally.lives;
      tally.lives += 1;
      // Of its own, so that a life is the same whatever the others do.
      const random = randomOf(seed + number * 7_919);
      const calls = Math.min(4 + random.below(MOST_CALLS - 3), starts - tally.starts);
      tally.starts += calls;
      const life = new Life(random, tally, cgroups ?? random.of(['on', 'off']));
      try {
        await life.live(calls);
      } catch (error) {
        throw new Error(`seed ${seed}, life ${number} (${life}): ${(error as Error).message}`, { cause: error });
      } finally {
        life.end();
      }
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return tally;
}

class Life {
  readonly #random: Random;
  readonly #tally: Tally;
  readonly #cgroups: string;
  readonly #marks = new Map<string, string>();
  readonly #fates: Promise<void>[] = [];
  readonly #events: string[] = [];
  #server: StdioPeer | undefined;

  constructor(random: Random, tally: Tally, cgroups: string) {
    this.#random = random;
    this.#tally = tally;
    this.#cgroups = cgroups;
  }

  async live(calls: number): Promise<void> {
    const server = await this.#start();
    // It keeps a reaper there, so that one that is killed must be replaced.
    const guard = newMark();
    this.#call(server, 0, 'plain', 'dies with its server', guard);
    await sleeping(guard, 1);
    for (let id = 1; id < calls; id += 1) {
      this.#call(server, id, this.#random.of(SHAPE_NAMES), this.#random.of(FATE_NAMES), newMark());
      if (this.#random.oneIn(3)) await this.#pause();
      if (this.#random.oneIn(12)) await this.#killReaper();
    }
    if (this.#random.oneIn(2)) await this.#pause();
    await this.#die(server, this.#random.of(DEATHS));
    await Promise.all(this.#fates);
    await gone(...this.#marks.keys());
  }

  /** For a life that has failed: what survived must not outlive it. */
  end(): void {
    this.#server?.child.process.kill('SIGKILL');
    for (const mark of this.#marks.keys()) for (const pid of marked(mark)) signal(pid);
  }

  toString(): string {
    return [`control groups ${this.#cgroups}`, ...this.#events].join(', ');
  }

  async #start(): Promise<StdioPeer> {
    const env = { ...process.env, CGROUPS: this.#cgroups, GRACE_MS: '20', TERM_MS: '50' };
    const child = spawn(process.execPath, [SERVER], { stdio: ['pipe', 'pipe', 'pipe'], env });
    const exited = once(child, 'close').then(([code, name]) => ({ code, signal: name }));
    child.stdin.on('error', () => {});
    let stderr = '';
    child.stderr.on('data', (text: Buffer) => {
      stderr += text.toString();
    });
    this.#server = new StdioPeer('modern', { process: child, exited, stderr: () => stderr, said: async () => {} });
    // It reads.
    await this.#server.request('tools/list');
    return this.#server;
  }

  #call(server: StdioPeer, id: number, shape: Shape, fate: Fate, mark: string): void {
    this.#note(fate);
    this.#note(shape);
    this.#marks.set(mark, shape);
    this.#events.push(`${shape} ${fate}`);
    const call = server.callTool(id, FATES[fate], { shape, mark });
    if (fate === 'cancelled at once') server.write(call, cancelFrame(id));
    else server.write(call);
    const after = this.#random.below(LONGEST_PAUSE);
    if (fate === 'cancelled') {
      this.#fates.push(sleep(after).then(() => void server.write(cancelFrame(id))));
    } else if (fate === 'one of its processes is killed') {
      const which = this.#random.below(1_000);
      this.#fates.push(
        sleep(after).then(() => {
          const pids = marked(mark);
          const pid = pids[which % pids.length];
          if (pid !== undefined && signal(pid)) this.#note('processes killed');
        }),
      );
    }
  }

  async #killReaper(): Promise<void> {
    const [before] = await this.#reapers(([pid]) => pid !== undefined);
    signal(before as number);
    this.#note('reapers killed');
    this.#events.push('the reaper is killed');
    // Who kills it and the server at once has asked for it.
    await this.#reapers(([pid]) => pid !== undefined && pid !== before);
  }

  #reapers(holds: (pids: number[]) => boolean): Promise<number[]> {
    const pid = this.#server?.child.process.pid as number;
    return until(
      () => reapersOf(pid),
      holds,
      (pids) => `the server has a reaper, and not ${pids.length}`,
    );
  }

  async #die({ child }: StdioPeer, death: (typeof DEATHS)[number]): Promise<void> {
    this.#note(`servers: ${death}`);
    this.#events.push(death);
    const [reaper] = await this.#reapers(([pid]) => pid !== undefined);
    if (death === 'stdin ends') child.process.stdin.end();
    else if (death === 'SIGTERM, SIGKILL') {
      child.process.kill('SIGTERM');
      await sleep(this.#random.below(LONGEST_PAUSE));
      child.process.kill('SIGKILL');
    } else child.process.kill(death);
    await child.exited;
    await over(reaper as number);
  }

  #pause(): Promise<void> {
    return sleep(this.#random.below(LONGEST_PAUSE));
  }

  #note(what: string): void {
    this.#tally.of[what] = (this.#tally.of[what] ?? 0) + 1;
  }
}
