/**
 * Records cancels of calls that are not in flight, by the ten thousand. Arguments: below | at, for the cap.
 *
 * Both tables hold ten thousand when the clock starts. One may hold more; the other may not, and evicts.
 */
import { cancelled, Engine } from '@estop/server/core';
import { answerRounds, usEach } from './answering.ts';

const HELD = 10_000;
const INSERTED = 9_000;
/** Enough that no scope comes to its own bound. */
const SCOPES = 200;

type Record = (scope: string, id: number) => unknown;

const [, , cap] = process.argv;
const options = { recorded: { max: cap === 'at' ? HELD : 2 * HELD } };
const scopes = Array.from({ length: SCOPES }, (_, n) => `connection:${n}`);
const reason = cancelled('library');

/** @returns microseconds of an insert, of `tables` new tables */
answerRounds(async (tables) => {
  let us = 0;
  for (let n = 0; n < tables; n += 1) us += (await insertInto(newTable())) / tables;
  return us;
});

function newTable(): Record {
  const { registry } = new Engine(options);
  const record: Record = (scope, id) => registry.record(scope, id, reason);
  insert(record, 0, HELD);
  return record;
}

function insertInto(record: Record): Promise<number> {
  return usEach(INSERTED, () => insert(record, HELD, HELD + INSERTED));
}

function insert(record: Record, from: number, to: number): void {
  for (let id = from; id < to; id += 1) record(scopes[id % SCOPES] as string, id);
}
