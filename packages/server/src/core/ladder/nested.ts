/**
 * The rung for calls that the call made: each has a ladder of its own, which is waited for.
 *
 * Shows what the nested call's own ladder shows. Bounded, because each of those is.
 */
import { goingOf } from '../work/work.ts';
import type { Rung } from './rung.ts';

export const nestedRung: Rung = {
  name: 'nested',
  isFor: (call) => goingOf(call.works, 'call').length > 0,
  async climb(call) {
    await Promise.all(goingOf(call.works, 'call').map((work) => work.end()));
  },
};
