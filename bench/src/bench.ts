/** A bench: what `npm run bench -- NAME` runs. */
import { KINDS, type Kind } from './kinds.ts';
import { type Row, ratioRow } from './row.ts';
import { type Rounds, takeTurns } from './sides.ts';

export interface Bench {
  readonly name: string;
  /** @param quick with counts so small that it only shows whether it runs */
  run(quick: boolean): Promise<Row[]>;
}

export interface CallsInit {
  readonly name: string;
  readonly unit: string;
  readonly target: number;
  readonly rounds: Rounds;
}

/** Whole calls, protected against bare, each in a process of its own. */
export async function protectedAgainstBare(init: CallsInit, script: string): Promise<Row[]> {
  const side = (kind: Kind) => ({ script, args: [KINDS[kind]] });
  const sides = { bare: side('bare'), again: side('again'), protected: side('protected') };
  return rowsOf(init, await takeTurns(sides, init.rounds));
}

/**
 * The same over stdio, where one client process calls a server process of each: what the client has become in this
 * start is the same for all of them, and they take turns in each of its rounds.
 */
export async function protectedAgainstBareOverStdio(init: CallsInit, script: string): Promise<Row[]> {
  const { client } = await takeTurns<'client', Record<Kind, number>>({ client: { script } }, init.rounds);
  const of = (kind: Kind) => client.map((figures) => figures[kind]);
  return rowsOf(init, { bare: of('bare'), again: of('again'), protected: of('protected') });
}

function rowsOf({ name, unit, target }: CallsInit, figures: Record<Kind, number[]>): Row[] {
  return [
    ratioRow({ name, unit, target, peerName: 'bare SDK' }, figures.protected, figures.bare),
    ratioRow({ name: `${name}, A/A`, unit, peerName: 'the same again' }, figures.again, figures.bare),
  ];
}
