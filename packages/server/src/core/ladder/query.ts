/**
 * The rung for queries: has the database told once more to end each that it has not answered, and waits for its answer.
 *
 * The answer is proof. One that lost its connection is looked for instead, and that gives evidence. Code in the database
 * that ignores the cancel, or a database that cannot be reached, outlasts the wait; then the work stays `unknown` until
 * the answer comes after all.
 */
import type { Work } from '../work/work.ts';
import { type Climber, endWithin, type Rung } from './rung.ts';

/** ms that a database may take to answer for a cancelled query; one on the same machine takes 1 to 5 ms. */
const ANSWER_WAIT_MS = 1_000;

export const queryRung: Rung = {
  name: 'query',
  isFor: (call) => queriesOf(call).length > 0,
  async climb(call, { clock }) {
    const queries = queriesOf(call);
    for (const query of queries) query.end();
    await endWithin(clock, ANSWER_WAIT_MS, queries);
  },
};

function queriesOf({ works }: Climber): readonly Work[] {
  return works.filter((work) => work.kind === 'query' && work.fact === 'unknown');
}
