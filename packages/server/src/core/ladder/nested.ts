/**
 * The rung for calls that the call made: each has a ladder of its own, which is waited for.
 *
 * Shows what the nested call's own ladder shows. Bounded, because each of those is.
 */
import type { Rung } from './rung.ts';

export const nestedRung: Rung = {
  name: 'nested',
  async climb(call) {
    const nested = call.works.filter((work) => work.kind === 'call' && work.fact === 'unknown');
    await Promise.all(nested.map((work) => work.end()));
  },
};
