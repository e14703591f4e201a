/**
 * The rung for queries: has the database told once more to end each that it has not answered, and waits for its answer.
 *
 * The answer is proof. Code in the database that ignores the cancel, or a database that cannot be reached, outlasts the
 * wait; then the work stays `unknown` until the answer comes after all.
 */
import { type Rung, within } from './rung.ts';

/** ms that a database may take to answer for a cancelled query; one on the same machine takes 1 to 5 ms. */
const ANSWER_WAIT_MS = 1_000;

export const queryRung: Rung = {
  name: 'query',
  async climb(call, { clock }) {
    const queries = call.works.filter((work) => work.kind === 'query' && work.fact === 'unknown');
    if (queries.length === 0) return;
    for (const query of queries) query.end();
    await within(
      clock,
      ANSWER_WAIT_MS,
      Promise.all(queries.map((query) => query.ended)).then(() => {}),
    );
  },
};
