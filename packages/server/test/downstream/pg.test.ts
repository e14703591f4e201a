import { randomUUID } from 'node:crypto';
import { Socket } from 'node:net';
import { type Call, cancelled, Engine } from '@estop/server/core';
import { query } from '@estop/server/pg';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { look } from '../../src/downstream/pg/look.ts';
import { address, describePostgres, endless, held, newClient, newPool, Outside } from '../support/postgres.ts';
import { processEvents } from '../support/process-events.ts';
import { published } from '../support/published.ts';
import { reportOf } from '../support/report.ts';
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
    const client = await newClient({ connectionString: undefined, ...account(), ...proxy.address });
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
    const client = await newClient({ connectionString: undefined, ...account(), ...proxy.address });
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
    const client = await newClient({ connectionString: undefined, ...account(), ...proxy.address });
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
    const client = await newClient({ connectionString: undefined, ...account(), ...proxy.address });
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
  ])('is looked for when %s, and not found: evidence, and never proof', async (_, happens) => {
    const events = processEvents();
    const [outside, client] = [await Outside.open(), await newClient()];
    const { sql, mark } = endless();
    const { left, start } = rig();
    const { call, throws } = start();
    const proven = published('proven');
    const answer = query(call, client, sql);
    answer.catch(throws);
    const pid = await outside.runs(mark);
    await happens(pid, outside, client);
    await expect(answer).rejects.toThrow(/terminat/);
    await known(call);
    expect(call.outcome()).toMatchObject({ state: 'failed', work: 'none-found' });
    expect(await outside.isThere(pid)).toBe(false);
    await soon(call.ladder, 'the ladder is done');
    expect(left).toEqual([call]);
    expect(proven).toEqual([]);
    expect(events).toEqual({ warnings: [], unhandled: [], uncaught: [] });
  });

  test.each([
    ['a client of a pool', () => checkedOut()],
    ['a client over a Unix socket', () => overUnixSocket()],
    ['a client over TLS', () => overTls()],
  ])('is looked for as it was connected, on %s', async (_, open) => {
    const [outside, client] = [await Outside.open(), await open()];
    const { sql, mark } = endless();
    const { call, throws } = rig().start();
    query(call, client, sql).catch(throws);
    const pid = await outside.runs(mark);
    await lose(client as pg.Client);
    await known(call);
    expect(call.workFact).toBe('none-found');
    expect(await outside.isThere(pid)).toBe(false);
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
    await known(call);
    expect(call.outcome()).toMatchObject({ state: 'running', work: 'none-found' });
    expect(events).toEqual({ warnings: [], unhandled: [], uncaught: [] });
  });

  test('twenty that are lost at once leave no call behind, and new ones run', async () => {
    const [outside, pool] = [await Outside.open(), newPool({ max: 20 })];
    const { engine, left, start } = rig({ maxAbandoned: 10 });
    const { sql, mark } = endless();
    const calls = Array.from({ length: 20 }, (_, id) => {
      const { call, throws } = start(Infinity, { id });
      query(call, pool, sql).catch(throws);
      return call;
    });
    await outside.run(mark, 20);
    await outside.client.query('select pg_terminate_backend(pid) from pg_stat_activity where strpos(query, $1) = 1', [
      sql,
    ]);
    await Promise.all(calls.map(known));
    await Promise.all(calls.map(({ ladder }) => soon(ladder, 'the ladder is done')));
    expect(new Set(left)).toEqual(new Set(calls));
    expect(engine.stats()).toMatchObject({ inFlight: 0, abandoned: 0 });
    const next = start(Infinity, { id: 20 }).call;
    expect((await query(next, pool, 'select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  test('that runs on after the loss is unknown, cancelled over a new connection, and then not found', async () => {
    const [outside, proxy] = [await Outside.open(), await startProxy(address())];
    const client = await newClient({ connectionString: undefined, ...account(), ...proxy.address });
    const { sql, mark } = endless();
    const { call, throws } = rig().start();
    query(call, client, sql).catch(throws);
    const pid = await outside.runs(mark);
    proxy.cut();
    const look = await proxy.second;
    await soon(settled(call), 'the handler settles');
    expect(await outside.pidOf(mark)).toBe(pid);
    expect(call.workFact).toBe('unknown');
    proxy.passAll();
    look.pass();
    await known(call);
    expect(call.workFact).toBe('none-found');
    // The server had heard nothing of the loss, so a cancel alone would have left its process there.
    expect(await outside.isThere(pid)).toBe(false);
  });

  test('its session is ended only when its call is stopped or over', async () => {
    const [outside, proxy] = [await Outside.open(), await startProxy(address())];
    const client = await newClient({ connectionString: undefined, ...account(), ...proxy.address });
    const { sql, mark } = endless();
    const { call } = rig().start();
    query(call, client, sql).catch(() => {});
    const pid = await outside.runs(mark);
    proxy.passAll();
    proxy.cut();
    await outside.runsNoMore(mark);
    // A look and its cancel, twice.
    await soon(proxy.came(4), 'it is looked for again');
    expect(await outside.isThere(pid)).toBe(true);
    expect(call.workFact).toBe('unknown');
    call.stop(cancelled('client'));
    await known(call);
    expect(call.workFact).toBe('none-found');
    expect(await outside.isThere(pid)).toBe(false);
  });

  test('is unknown while the server cannot be reached, and known when it can', async () => {
    const events = processEvents();
    const [outside, proxy] = [await Outside.open(), await startProxy(address())];
    const pool = newPool({ connectionString: undefined, ...account(), ...proxy.address, max: 20 });
    const { engine, start } = rig();
    const { sql, mark } = endless();
    proxy.passAll();
    const calls = Array.from({ length: 20 }, (_, id) => {
      const { call, throws } = start(Infinity, { id });
      query(call, pool, sql).catch(throws);
      return call;
    });
    await outside.run(mark, 20);
    proxy.refuseAll();
    proxy.cut();
    await proxy.refused(3);
    await Promise.all(calls.map((call) => soon(settled(call), 'the handler settles')));
    expect(calls.map(({ workFact }) => workFact)).toEqual(calls.map(() => 'unknown'));
    proxy.passAll();
    await Promise.all(calls.map(known));
    expect(calls.map(({ workFact }) => workFact)).toEqual(calls.map(() => 'none-found'));
    await outside.runsNoMore(mark);
    await Promise.all(calls.map(({ ladder }) => soon(ladder, 'the ladder is done')));
    expect(engine.stats()).toMatchObject({ inFlight: 0, abandoned: 0 });
    // One that looks and one that cancels, and what of them is not yet closed: no crowd.
    expect(proxy.counts().atOnce).toBeLessThan(6);
    expect(events).toEqual({ warnings: [], unhandled: [], uncaught: [] });
  });

  test('is looked for when its pool has ended meanwhile', async () => {
    const [outside, proxy] = [await Outside.open(), await startProxy(address())];
    const pool = new pg.Pool({ ...account(), ...proxy.address });
    const { sql, mark } = endless();
    const { call, throws } = rig().start();
    query(call, pool, sql).catch(throws);
    const pid = await outside.runs(mark);
    proxy.refuseAll();
    proxy.cut();
    await proxy.refused(1);
    await soon(pool.end(), 'the pool ends');
    expect(call.workFact).toBe('unknown');
    proxy.passAll();
    await known(call);
    expect(call.workFact).toBe('none-found');
    expect(await outside.isThere(pid)).toBe(false);
  });

  test('is looked for over a connection that is made as its pool makes them', async () => {
    const outside = await Outside.open();
    let made = 0;
    const stream = (): Socket => {
      made += 1;
      return new Socket();
    };
    const pool = newPool({ stream } as pg.PoolConfig);
    const { sql, mark } = endless();
    const { call } = rig().start();
    query(call, pool, sql).catch(() => {});
    await terminate(await outside.runs(mark), outside);
    await known(call);
    expect(call.workFact).toBe('none-found');
    expect(made).toBe(2);
  });

  test('a query that stays unknown keeps no process alive', async () => {
    const { host, port } = address();
    expect(await reportOf('query-lost.mjs', JSON.stringify({ ...account(), host, port }))).toEqual({
      states: ['running', 'failed'],
      works: ['unknown', 'unknown'],
    });
  });

  test('a look knows a process by its age, and is sure only of one that is older', async () => {
    const [outside, other] = [await Outside.open(), await newClient()];
    const pid = processIdOf(other);
    const seen = async (ageMs: number): Promise<unknown> => [
      ...(await look(outside.client as never, [{ pid, ageMs }])),
    ];
    expect(await seen(0)).toEqual([[0, true]]);
    // Within the slack of two clocks.
    expect(await seen(500)).toEqual([[0, false]]);
    expect(await seen(60_000)).toEqual([]);
  });

  test('a look through a pooler that gives pids of its own is blind, and says so', async () => {
    const [outside, other] = [await Outside.open(), await newClient()];
    const pooled = { processID: 7, query: (text: string, values: []) => outside.client.query(text, values) };
    const looked = look(pooled as never, [{ pid: processIdOf(other), ageMs: 0 }]);
    await expect(looked).rejects.toThrow('does not show the process of this connection');
  });

  test('keeps a mutex shut while it is unknown, and opens it when it is not found', async () => {
    const [outside, proxy] = [await Outside.open(), await startProxy(address())];
    const pool = newPool({ connectionString: undefined, ...account(), ...proxy.address });
    const { engine, start } = rig();
    const gate = engine.slots.mutex('db');
    const holder = start(Infinity, {}, { gate });
    const next = start(Infinity, { id: 2 }, { gate });
    const { sql, mark } = endless();
    query(holder.call, pool, sql).catch(holder.throws);
    await outside.runs(mark);
    proxy.cut();
    const look = await proxy.second;
    await soon(settled(holder.call), 'the handler settles');
    expect(next.call.state).toBe('queued');
    proxy.passAll();
    look.pass();
    await known(holder.call);
    await soon(holder.call.ladder, 'the ladder is done');
    expect(next.call.state).toBe('running');
  });

  test('that stays unknown leaves its mutex to whoever releases it', async () => {
    const [outside, proxy] = [await Outside.open(), await startProxy(address())];
    const pool = newPool({ connectionString: undefined, ...account(), ...proxy.address });
    const { engine, start } = rig();
    const gate = engine.slots.mutex('db');
    const holder = start(Infinity, {}, { gate });
    const next = start(Infinity, { id: 2 }, { gate });
    const { sql, mark } = endless();
    query(holder.call, pool, sql).catch(holder.throws);
    await outside.runs(mark);
    proxy.refuseAll();
    proxy.cut();
    await proxy.refused(1);
    await soon(settled(holder.call), 'the handler settles');
    expect(next.call.state).toBe('queued');
    holder.call.release();
    expect(next.call.state).toBe('running');
    proxy.passAll();
    await known(holder.call);
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
  client.on('error', () => {});
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

/** Resolves when its work is no longer `unknown`. */
function known(call: Call): Promise<void> {
  return soon(
    call.until(({ workFact }) => workFact !== 'unknown'),
    'what became of the query is known',
  );
}

function processIdOf(client: pg.Client): number {
  return (client as unknown as { processID: number }).processID;
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
