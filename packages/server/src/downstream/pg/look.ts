/**
 * One look at a PostgreSQL server: which of these processes of its, each with a lost connection, are still there.
 *
 * A process is known by its pid, its user, and that it is older than what was sent to it; the server's own clock says
 * how old it is. Seen from the server that answers: after a failover that may be another one, which knows none of them.
 * A look that does not see itself is blind, and says so: a pooler that gives pids of its own, or a server that only
 * speaks like PostgreSQL.
 */
import type { OwnClient } from './driver.ts';

export interface Sought {
  readonly pid: number;
  /** ms since something was sent to it. */
  readonly ageMs: number;
}

/**
 * The clocks of two machines drift apart while a statement runs: each is corrected by at most 500 ppm, and mostly by far
 * less. What is younger than what was sent, by more than all that and a second, is another process; what is older, or
 * younger by less than the usual, is that one.
 */
const WORST_DRIFT = `interval '1 s' + age * 0.001`;
const USUAL_DRIFT = 'age * 0.0001';

// Text, since how pg reads numbers is for its users to say. The first one sought is the one that looks.
const LOOK = `
  with sought as (
    select n, pid, ms * interval '1 ms' as age
    from unnest($1::int[], $2::float8[]) with ordinality as sought (pid, ms, n)
  )
  select sought.n::text as n,
    (backend_start <= pg_catalog.clock_timestamp() - age + ${USUAL_DRIFT}
      and client_addr is not distinct from pg_catalog.inet_client_addr())::text as sure
  from sought join pg_catalog.pg_stat_activity as seen using (pid)
  where case sought.n
    when 1 then pid = pg_catalog.pg_backend_pid()
    else usename = session_user
      and (backend_start is null or backend_start <= pg_catalog.clock_timestamp() - age + ${WORST_DRIFT})
  end`;

/**
 * @returns of each that is there its index, and whether it is that one for sure: by its start, and connected from
 *   where the look is. Then ending it by its pid ends nothing else
 * @throws when the look is blind, or fails
 */
export async function look(client: OwnClient, sought: readonly Sought[]): Promise<ReadonlyMap<number, boolean>> {
  const pids = [client.processID, ...sought.map(({ pid }) => pid)];
  const ages = [0, ...sought.map(({ ageMs }) => ageMs)];
  const { rows } = await client.query(LOOK, [pids, ages]);
  const there = new Map(rows.map(({ n, sure }) => [Number(n) - 2, sure === 'true']));
  if (!there.delete(-1)) throw new Error('estop: pg: the server does not show the process of this connection');
  return there;
}

/** Ends the session, not only its statement: what PostgreSQL does itself when it notices that nobody is there. */
export async function terminate(client: OwnClient, pid: number): Promise<void> {
  await client.query('select pg_catalog.pg_terminate_backend($1::int)', [pid]);
}
