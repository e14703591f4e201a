/**
 * The rung for queries: has the database told once more to end each that it has not answered, and waits for its answer.
 *
 * The answer is proof. One that lost its connection is looked for instead, and that gives evidence. Code in the database
 * that ignores the cancel, or a database that cannot be reached, outlasts the wait; then the work stays `unknown` until
 * the answer comes after all.
 */
import { goingOf } from '../work/work.ts';
import { endWithin, type Rung } from './rung.ts';

/** ms that a database may take to answer for a cancelled query; one on the same machine takes 1 to 5 ms. */
const ANSWER_WAIT_MS = 1_000;

export const queryRung: Rung = {
  name: 'query',
  isFor: (call) => goingOf(call.works, 'query').length > 0,
  async climb(call, { clock }) {
    const queries = goingOf(call.works, 'query');
    for (const query of queries) query.end();
    await endWithin(clock, ANSWER_WAIT_MS, queries);
  },
};
