/** Functions in threads and processes, for calls on virtual time: what runs is real. All have ended when the test has. */
import {
  type Call,
  cancelled,
  type IsolatedFunction,
  type Progress,
  runInProcess,
  runInThread,
  type Spares,
  type StopReason,
} from '@estop/server/core';
import { expect, onTestFinished } from 'vitest';
import { type Answer, answerOf, GRACE_MS, type Rig, rig } from './rig.ts';
import { latch, soon, turns } from './waiting.ts';

export const TOOLS = new URL('../subjects/isolated-functions.mjs', import.meta.url).href;

export type Kind = 'thread' | 'process';
export const KINDS: readonly Kind[] = ['thread', 'process'];

/** The last rung that the ladder of such a call needs to climb. */
export const LAST_RUNG: Readonly<Record<Kind, string>> = { thread: 'thread', process: 'term' };

/** What is known of its end: of a process it is proven only where there are control groups. */
export const ENDED: Readonly<Record<Kind, unknown>> = {
  thread: 'ended',
  process: expect.stringMatching(/^(ended|none-found)$/),
};

/** The time of the proof in an outcome, where there is one. */
export function proofAfter(call: Call, ms: number): { signalToProofMs?: number } {
  return call.workFact === 'ended' ? { signalToProofMs: ms } : {};
}

export function runIsolated(
  kind: Kind,
  call: Call,
  fn: IsolatedFunction,
  { memoryMb, spares }: Extras = {},
): Promise<unknown> {
  return kind === 'thread' ? runInThread(call, fn, spares) : runInProcess(call, fn, { memoryMb }, spares);
}

interface Extras {
  readonly memoryMb?: number | undefined;
  readonly spares?: Spares | undefined;
}

interface IsolatedRun {
  readonly call: Call;
  /** The caller's answer. */
  readonly answered: Promise<Answer>;
  /** What the function returned, also when nobody is answered with it any more. */
  readonly returned: Promise<unknown>;
  readonly left: Promise<void>;
  readonly progress: Progress[];
  /** Resolves when the function has reported that. */
  at(message: string): Promise<void>;
}

interface RunOptions extends Extras, Partial<Pick<IsolatedFunction, 'module' | 'onTold' | 'onAsk'>> {
  readonly timeoutMs?: number;
}

export interface Isolated extends Rig {
  run(name: string, args?: unknown, options?: RunOptions): IsolatedRun;
}

export function isolatedRig(kind: Kind, options?: { graceMs: number }): Isolated {
  const rigged = rig(options);
  const { engine, clock } = rigged;
  let id = 0;
  onTestFinished(async () => {
    for (const call of engine.registry.calls()) call.stop(cancelled('library'));
    await turns();
    clock.advance(GRACE_MS);
    await Promise.all(engine.registry.calls().flatMap(({ works }) => works.map(({ ended }) => ended)));
  });
  return {
    ...rigged,
    run(name, args = {}, { timeoutMs = Infinity, module = TOOLS, onTold, onAsk, ...extras } = {}) {
      id += 1;
      const left = latch();
      const moved = latch();
      let heard = moved;
      const progress: Progress[] = [];
      const call = rigged.arrive({ id, name, owner: { left: () => left.open() } });
      const onProgress = (reported: Progress): void => {
        progress.push(reported);
        heard.open();
        heard = latch();
      };
      const returned = latch<unknown>();
      returned.promise.catch(() => {});
      const handler = async (): Promise<unknown> => {
        const running = runIsolated(kind, call, { module, export: name, args, onProgress, onTold, onAsk }, extras);
        running.then(returned.open, returned.fail);
        return running;
      };
      const ran = call.run(handler, { timeoutMs });
      const answer = answerOf(ran);
      const answered = ran.then(
        () => answer,
        () => answer,
      );
      return {
        call,
        get answered() {
          return soon(answered, `${name} is answered`);
        },
        get returned() {
          return soon(returned.promise, `${name} returns`);
        },
        left: left.promise,
        progress,
        async at(message) {
          while (!progress.some((reported) => reported.message === message)) {
            await soon(Promise.race([heard.promise, failed(ran)]), `${name} is ${message}`);
          }
        },
      };
    },
  };
}

/** What has returned is ended when the grace is over. */
export async function endOfGrace({ clock }: Rig, left: Promise<void>): Promise<void> {
  await turns();
  clock.advance(GRACE_MS);
  await left;
}

function failed(ran: Promise<unknown>): Promise<never> {
  return new Promise((_, reject) => ran.catch((error: StopReason) => reject(error)));
}
