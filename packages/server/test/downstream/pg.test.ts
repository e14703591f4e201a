import { randomUUID } from 'node:crypto';
import { type Call, cancelled, Engine } from '@estop/server/core';
import { query } from '@estop/server/pg';
import type pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { address, describePostgres, endless, held, newClient, newPool, Outside } from '../support/postgres.ts';
import { processEvents } from '../support/process-events.ts';
import { published } from '../support/published.ts';
import { answerOf, GRACE_MS, rig } from '../support/rig.ts';
import { startProxy } from '../support/tcp-proxy.ts';
import { latch, soon, turns } from '../support/waiting.ts';

describePostgres('a query on PostgreSQL', () => {
  test.each([
    ['a pool', () => newPool()],
    ['a client', () => newClient()],
    ['a client of a pool', () => checkedOut()],
    ['a client over a Unix socket', () => overUnixSocket()],
    ['a client over TLS', () => overTls()],
  ])('ends on the server when its call is stopped, on %s', async (_, open) => {
    const [outside, db] = [await Outside.open(), await open()];
    const { sql, mark } = endless();
    const { call, returns } = rig().start();
    const proven = published('proven');
    const answer = query(call, db, sql);
    answer.catch(() => {});
    await outside.runs(mark);
    expect(call.outcome()).toMatchObject({ state: 'running', work: 'unknown' });

    call.stop(cancelled('client', 'enough'));
    returns();
    await expect(answer).rejects.toBe(call.reason);
    await outside.runsNoMore(mark);
    await soon(call.ladder, 'the ladder is done');
    expect(call.outcome()).toMatchObject({ state: 'stopped', handler: 'settled', work: 'ended' });
    expect(call.outcome().signalToProofMs).toBeDefined();
    expect(proven).toEqual([{ channel: 'proven', event: expect.objectContaining({ requestId: 1 }) }]);
  });

  test('rejects at the stop, and does not wait for the server', async () => {
    const [outside, proxy] = [await Outside.open(), await startProxy(address())];
    const client = await newClient({ connectionString: undefined, ...account(), ...proxy });
    const { sql, mark } = endless();
    const { call } = rig().start();
    const answer = answerOf(query(call, client, sql));
    await outside.runs(mark);
    call.stop(cancelled('client'));
    await turns();
    expect(answer).toEqual({ times: 1, error: call.reason });
    const cancel = await proxy.second;
    expect(await outside.pidOf(mark)).toBeDefined();
    expect(call.workFact).toBe('unknown');
    cancel.pass();
    await outside.runsNoMore(mark);
  });

  test('ends at the deadline of its call', async () => {
    const [outside, pool] = [await Outside.open(), newPool()];
    const { sql, mark } = endless();
    const { clock, start } = rig();
    const { call } = start(5_000);
    const answer = query(call, pool, sql);
    answer.catch(() => {});
    await outside.runs(mark);
    clock.advance(5_000);
    await expect(answer).rejects.toMatchObject({ kind: 'deadline' });
    await outside.runsNoMore(mark);
  });

  test('ends when its handler returns and has not waited for it', async () => {
    const [outside, pool] = [await Outside.open(), newPool()];
    const { sql, mark } = endless();
    const { call, returns } = rig().start();
    const answer = query(call, pool, sql);
    answer.catch(() => {});
    await outside.runs(mark);
    returns('early');
    await expect(answer).rejects.toMatchObject({ code: '57014' });
    await outside.runsNoMore(mark);
    await soon(call.ladder, 'the ladder is done');
    expect(call.outcome()).toMatchObject({ state: 'completed', work: 'ended' });
  });

  test('a sibling on another connection goes on', async () => {
    const [outside, pool] = [await Outside.open(), newPool()];
    const { start } = rig();
    const [stopped, sibling] = [start().call, start(Infinity, { id: 2 }).call];
    const [first, second] = [endless(), await held(outside)];
    answerOf(query(stopped, pool, first.sql));
    const answer = query<{ word: string }>(sibling, pool, second.sql);
    await Promise.all([outside.runs(first.mark), outside.runs(second.mark)]);
    stopped.stop(cancelled('client'));
    await outside.runsNoMore(first.mark);
    expect(await outside.pidOf(second.mark)).toBeDefined();
    await second.ends();
    expect((await answer).rows).toEqual([{ word: 'ended' }]);
    expect(sibling.outcome()).toMatchObject({ state: 'running', work: 'ended' });
  });

  test('its transaction is rolled back by its client, as after any error', async () => {
    const [outside, client] = [await Outside.open(), await newClient()];
    const table = await newTable(outside);
    const { sql, mark } = endless();
    const { call } = rig().start();
    await query(call, client, 'begin');
    await query(call, client, `insert into ${table} values (1)`);
    const answer = query(call, client, sql);
    answer.catch(() => {});
    await outside.runs(mark);
    call.stop(cancelled('client'));
    await expect(answer).rejects.toBe(call.reason);
    await client.query('rollback');
    expect((await client.query(`select * from ${table}`)).rows).toEqual([]);
  });

  test('what was committed before the stop stays', async () => {
    const [outside, pool] = [await Outside.open(), newPool()];
    const table = await newTable(outside);
    const { sql, mark } = endless();
    const { call } = rig().start();
    await query(call, pool, `insert into ${table} values ($1)`, [7]);
    answerOf(query(call, pool, sql));
    await outside.runs(mark);
    call.stop(cancelled('client'));
    await outside.runsNoMore(mark);
    expect((await pool.query(`select n from ${table}`)).rows).toEqual([{ n: 7 }]);
  });

  test('is not sent for a call that was stopped, or is over', async () => {
    const pool = newPool();
    const { start } = rig();
    const [stopped, over] = [start(), start(Infinity, { id: 2 })];
    stopped.call.stop(cancelled('client'));
    over.returns();
    await turns();
    await expect(query(stopped.call, pool, 'select 1')).rejects.toBe(stopped.call.reason);
    await expect(query(over.call, pool, 'select 1')).rejects.toThrow(/^estop: tool "scrape" is not running/);
    expect(pool.totalCount).toBe(0);
  });

  test('that waits for a connection of its pool is given up, never sent, and no work', async () => {
    const [outside, pool] = [await Outside.open(), newPool({ max: 1 })];
    const { start } = rig();
    const [first, waiting] = [start().call, start(Infinity, { id: 2 }).call];
    const holder = await held(outside);
    const answer = query(first, pool, holder.sql);
    const queued = query(waiting, pool, endless().sql);
    queued.catch(() => {});
    await outside.runs(holder.mark);
    waiting.stop(cancelled('client'));
    await expect(queued).rejects.toBe(waiting.reason);
    expect(waiting.workFact).toBe('none');
    await holder.ends();
    await answer;
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    expect(pool).toMatchObject({ totalCount: 1, idleCount: 1, waitingCount: 0 });
  });

  test('that waits for its client is given up, never sent, and the one before it goes on', async () => {
    const [outside, client] = [await Outside.open(), await newClient()];
    const { call } = rig().start();
    const holder = await held(outside);
    const before = client.query(holder.sql);
    const queued = query(call, client, endless().sql);
    queued.catch(() => {});
    await outside.runs(holder.mark);
    call.stop(cancelled('client'));
    await expect(queued).rejects.toBe(call.reason);
    await holder.ends();
    expect((await before).rows).toEqual([{ word: 'ended' }]);
    expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    expect(call.workFact).toBe('none');
  });

  test('a cancel that comes late hits nothing: the next query waits for it', async () => {
    const [outside, proxy] = [await Outside.open(), await startProxy(address())];
    const client = await newClient({ connectionString: undefined, ...account(), ...proxy });
    const { call } = rig().start();
    const [statement, next] = [await held(outside), await held(outside)];
    answerOf(query(call, client, statement.sql));
    await outside.runs(statement.mark);
    call.stop(cancelled('client'));
    const cancel = await proxy.second;
    const behind = client.query(next.sql);
    // It ends by itself while its cancel is on its way; nothing of that is read yet, and nothing else is sent.
    await statement.ends();
    await outside.runsNoMore(statement.mark);
    await turns();
    expect(await outside.pidOf(next.mark)).toBeUndefined();
    expect(call.workFact).toBe('unknown');
    cancel.pass();
    await proxy.secondClosed;
    await outside.runs(next.mark);
    expect(call.workFact).toBe('ended');
    await next.ends();
    expect((await behind).rows).toEqual([{ word: 'ended' }]);
  });

  test('a cancel that cannot be delivered proves nothing; the answer of the server does', async () => {
    const [outside, proxy] = [await Outside.open(), await startProxy(address())];
    const client = await newClient({ connectionString: undefined, ...account(), ...proxy });
    const { call, returns } = rig().start();
    const proven = published('proven');
    const statement = await held(outside);
    const answer = query(call, client, statement.sql);
    answer.catch(() => {});
    await outside.runs(statement.mark);
    call.stop(cancelled('client'));
    returns();
    (await proxy.second).close();
    await proxy.secondClosed;
    await expect(answer).rejects.toBe(call.reason);
    expect(await outside.pidOf(statement.mark)).toBeDefined();
    expect(call.outcome()).toMatchObject({ handler: 'settled', work: 'unknown' });
    expect(proven).toEqual([]);
    await statement.ends();
    await soon(
      call.until(({ workFact }) => workFact !== 'unknown'),
      'the server answers',
    );
    expect(call.workFact).toBe('ended');
  });

  test('a cancel that found nothing to end is sent once more when the grace is over', async () => {
    const [outside, proxy] = [await Outside.open(), await startProxy(address())];
    const client = await newClient({ connectionString: undefined, ...account(), ...proxy });
    const { clock, start } = rig();
    const { call, returns } = start();
    const { sql, mark } = endless();
    answerOf(query(call, client, sql));
    await outside.runs(mark);
    call.stop(cancelled('client'));
    returns();
    (await proxy.second).close();
    await proxy.secondClosed;
    await turns();
    expect(await outside.pidOf(mark)).toBeDefined();
    proxy.passAll();
    clock.advance(GRACE_MS);
    await outside.runsNoMore(mark);
    await soon(call.ladder, 'the ladder is done');
    expect(call.outcome()).toMatchObject({ state: 'stopped', work: 'ended' });
  });

  test.each([
    ['the server ends its process', async (pid: number, outside: Outside) => terminate(pid, outside)],
    ['its socket is lost', async (_pid: number, _outside: Outside, client: pg.Client) => lose(client)],
  ])('is unknown, and never ended, when %s', async (_, happens) => {
    const events = processEvents();
    const [outside, client] = [await Outside.open(), await newClient()];
    const { sql, mark } = endless();
    const { clock, start } = rig();
    const { call, throws } = start();
    const proven = published('proven');
    const answer = query(call, client, sql);
    answer.catch(throws);
    await happens(await outside.runs(mark), outside, client);
    await expect(answer).rejects.toThrow(/terminat/);
    expect(call.workFact).toBe('unknown');
    call.stop(cancelled('client'));
    await turns();
    for (let rung = 0; rung < 3; rung += 1) {
      clock.advance(GRACE_MS + 1_000);
      await turns();
    }
    await soon(call.ladder, 'the ladder is done');
    expect(call.outcome()).toMatchObject({ state: 'failed', work: 'unknown' });
    expect(proven).toEqual([]);
    expect(events).toEqual({ warnings: [], unhandled: [], uncaught: [] });
    // After the loss the server process may still run it: a cancel was sent for it all the same.
    await outside.runsNoMore(mark);
  });

  test('a pool outlives a connection that was lost in a query', async () => {
    const events = processEvents();
    const [outside, pool] = [await Outside.open(), newPool({ max: 1 })];
    const { sql, mark } = endless();
    const { call } = rig().start();
    const answer = query(call, pool, sql);
    answer.catch(() => {});
    await terminate(await outside.runs(mark), outside);
    await expect(answer).rejects.toMatchObject({ code: '57P01' });
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    expect(call.workFact).toBe('unknown');
    expect(events).toEqual({ warnings: [], unhandled: [], uncaught: [] });
  });

  test('keeps a mutex shut while it is unknown', async () => {
    const [outside, pool] = [await Outside.open(), newPool()];
    const { engine, start } = rig();
    const gate = engine.slots.mutex('db');
    const holder = start(Infinity, {}, { gate });
    const next = start(Infinity, { id: 2 }, { gate });
    const { sql, mark } = endless();
    query(holder.call, pool, sql).catch(holder.throws);
    await terminate(await outside.runs(mark), outside);
    await soon(settled(holder.call), 'the handler settles');
    expect(next.call.state).toBe('queued');
    holder.call.release();
    expect(next.call.state).toBe('running');
  });

  test('that pg gives up by `query_timeout` is unknown until the server answers', async () => {
    const [outside, pool] = [await Outside.open(), newPool({ max: 1 })];
    const statement = await held(outside);
    const { call } = rig().start();
    const answer = query(call, pool, { text: statement.sql, query_timeout: 50 });
    await expect(answer).rejects.toThrow('Query read timeout');
    expect(call.workFact).toBe('unknown');
    await statement.ends();
    // Its connection was kept until then.
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    expect(call.workFact).toBe('ended');
  });

  test('gives what pg gives: rows, values, configs, and the errors of the server', async () => {
    const pool = newPool({ max: 1 });
    const { call } = rig().start();
    const { rows } = await query<{ n: number }>(call, pool, 'select $1::int as n', [7]);
    expect(rows).toEqual([{ n: 7 }]);
    const named = { name: 'twice', text: 'select $1::int * 2 as n', values: [21] };
    for (let round = 0; round < 3; round += 1) {
      expect(await query(call, pool, named)).toMatchObject({ command: 'SELECT', rowCount: 1, rows: [{ n: 42 }] });
    }
    expect((await query(call, pool, { text: 'select 1, 2', rowMode: 'array' })).rows).toEqual([[1, 2]]);
    await expect(query(call, pool, 'select 1/0')).rejects.toMatchObject({ code: '22012' });
    await expect(query(call, pool, 'select $1::int', [{ toPostgres: () => fail() }])).rejects.toThrow('no value');
    await expect(query(call, pool, 'select', 'no array' as never)).rejects.toThrow('must be an array');
    expect((await query(call, pool, 'select 1 as one')).rows).toEqual([{ one: 1 }]);
    expect(call.outcome()).toMatchObject({ state: 'running', work: 'ended' });
  });

  test('refuses what it could not cancel, and says so', async () => {
    const pool = newPool({ max: 1 });
    const { call } = rig().start();
    await expect(query(call, pool, { text: '', submit: () => {} } as never)).rejects.toThrow(
      /a Cursor or a QueryStream/,
    );
    await expect(query(call, newPool({ pipeline: true } as never), 'select 1')).rejects.toThrow(/pipeline: true/);
    await expect(query(call, { processID: 1 } as never, 'select 1')).rejects.toThrow(/no client of pg 8/);
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    expect(call.workFact).toBe('none');
  });

  test.each([
    ['a pool', () => newPool({ max: 2 })],
    ['a client', () => newClient()],
  ])('in 200 rounds of stop and next on %s, no late cancel hits the next', async (_, open) => {
    const events = processEvents();
    const db = await open();
    const engine = new Engine({ graceMs: 10, cleanupMs: Infinity });
    onTestFinished(() => engine.close());
    const ways = { result: 0, stopped: 0 };
    for (let round = 0; round < 200; round += 1) {
      const call = engine.begin({ scope: 'connection:1', id: round, method: 'tools/call', name: 'report' });
      const handler = call.run(() => query(call, db, `select pg_sleep(${(round % 20) / 10_000})`), {
        timeoutMs: Infinity,
      });
      const answer = handler.then(
        () => 'result' as const,
        (error) => (error === call.reason ? ('stopped' as const) : error),
      );
      // From before it is sent to after it has ended.
      for (let wait = 0; wait < round % 7; wait += 1) await turns();
      call.stop(cancelled('client'));
      const { rows } = await db.query('select $1::int as n', [round]);
      expect(rows).toEqual([{ n: round }]);
      ways[(await answer) as keyof typeof ways] += 1;
      await soon(call.ladder, 'the ladder is done');
      expect(['ended', 'none']).toContain(call.workFact);
    }
    expect(ways.result + ways.stopped).toBe(200);
    expect(ways.stopped).toBeGreaterThan(0);
    expect(engine.stats()).toMatchObject({ inFlight: 0, abandoned: 0 });
    await turns();
    expect(events).toEqual({ warnings: [], unhandled: [], uncaught: [] });
  });

  test('leaves no listener on its client or its call', async () => {
    const client = await newClient();
    const { call } = rig().start();
    const { connection } = client;
    const counts = (): number[] => [...connection.eventNames()].map((name) => connection.listenerCount(name));
    const before = counts();
    for (let round = 0; round < 100; round += 1) {
      await query(call, client, 'select 1');
      await query(call, client, 'select 1/0').catch(() => {});
    }
    expect(counts()).toEqual(before);
    expect(client.listenerCount('error')).toBe(1);
    expect(call.works).toEqual([]);
  });
});

async function checkedOut(): Promise<pg.PoolClient> {
  const client = await newPool().connect();
  onTestFinished(() => client.release(true));
  return client;
}

async function overUnixSocket(): Promise<pg.Client> {
  const { rows } = await (await newClient()).query('show unix_socket_directories');
  return newClient({ connectionString: undefined, ...account(), ...address(), host: rows[0].unix_socket_directories });
}

/** Where the server has none, the connection fails, and the test with it. */
async function overTls(): Promise<pg.Client> {
  return newClient({ ssl: { rejectUnauthorized: false } });
}

/** Who connects, without where. */
function account(): pg.ClientConfig {
  const { username, password, pathname } = new URL(process.env['ESTOP_TEST_POSTGRES'] ?? '');
  return { user: username, password, database: pathname.slice(1) };
}

async function newTable(outside: Outside): Promise<string> {
  const table = `estop_${randomUUID().replaceAll('-', '')}`;
  await outside.client.query(`create table ${table} (n int)`);
  onTestFinished(async () => void (await outside.client.query(`drop table ${table}`)));
  return table;
}

async function terminate(pid: number, outside: Outside): Promise<void> {
  await outside.client.query('select pg_terminate_backend($1)', [pid]);
}

async function lose({ connection }: pg.Client): Promise<void> {
  connection.stream.destroy();
}

/** Resolves when its handler has settled. */
function settled(call: Call): Promise<void> {
  const done = latch();
  const look = (): void => (call.handlerFact === 'settled' ? done.open() : void setImmediate(look));
  look();
  return done.promise;
}

function fail(): never {
  throw new Error('no value');
}
