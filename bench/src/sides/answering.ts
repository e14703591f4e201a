/** A side's end of the line: asked for a round, it answers with its figure, and goes when whoever asks is gone. */
import { median } from '../row.ts';

export interface Ask {
  readonly count: number;
}

export type Answer =
  | { readonly value: unknown }
  /** What it should measure is not there. */
  | { readonly cannot: string }
  | { readonly failed: string };

export class Cannot extends Error {}

/** @param round does as much as `count` says, and gives the figure of it, or figures */
export function answerRounds(round: (count: number) => unknown): void {
  process.on('message', async ({ count }: Ask) => {
    process.send?.(await answer(round, count));
  });
  process.on('disconnect', () => process.exit());
}

async function answer(round: (count: number) => unknown, count: number): Promise<Answer> {
  try {
    return { value: await round(count) };
  } catch (error) {
    if (error instanceof Cannot) return { cannot: error.message };
    return { failed: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

/** @returns microseconds that each of `count` took, on the average: pauses for garbage are part of what things cost */
export async function usEach(count: number, all: () => void | Promise<void>): Promise<number> {
  const start = process.hrtime.bigint();
  const done = all();
  if (done) await done;
  return Number(process.hrtime.bigint() - start) / 1_000 / count;
}

/** @returns the median of what `once` gives, of `count` times: what disturbs one of them is not in it */
export async function medianOf(count: number, once: () => Promise<number>): Promise<number> {
  const figures: number[] = [];
  for (let n = 0; n < count; n += 1) figures.push(await once());
  return median(figures);
}

/** @returns bytes that are no garbage; the process must have been started with --expose-gc */
export async function heapUsed(): Promise<number> {
  await collectGarbage();
  return process.memoryUsage().heapUsed;
}

async function collectGarbage(): Promise<void> {
  if (globalThis.gc === undefined) throw new Cannot('--expose-gc is missing');
  for (let pass = 0; pass < 3; pass += 1) {
    globalThis.gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
}
