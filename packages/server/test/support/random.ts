/** Chance that comes again: the same seed gives the same choices. */

export interface Random {
  /** An integer from 0 up to, and without, `end`. */
  below(end: number): number;
  of<T>(choices: readonly T[]): T;
  /** True once in `times`, on average. */
  oneIn(times: number): boolean;
}

/** Mulberry32: small, fast, and good enough to choose by. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  const below = (end: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end);
  };
  return {
    below,
    of: (choices) => choices[below(choices.length)] as never,
    oneIn: (times) => below(times) === 0,
  };
}
