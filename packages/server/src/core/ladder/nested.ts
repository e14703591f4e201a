/**
 * The rung for calls that the call made: each has a ladder of its own, which is waited for.
 *
 * Shows what the nested call's own ladder shows. Bounded, because each of those is.
 */
import type { Work } from '../work/work.ts';
import type { Climber, Rung } from './rung.ts';

export const nestedRung: Rung = {
  name: 'nested',
  isFor: (call) => nestedOf(call).length > 0,
  async climb(call) {
    await Promise.all(nestedOf(call).map((work) => work.end()));
  },
};

function nestedOf({ works }: Climber): readonly Work[] {
  return works.filter((work) => work.kind === 'call' && work.fact === 'unknown');
}
