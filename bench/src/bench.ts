/** A bench: what `npm run bench -- NAME` runs. */
import { KINDS, type Kind } from './kinds.ts';
import { amountRow, median, type Row, ratioRow, unknownRow } from './row.ts';
import { NotMeasured, type Rounds, type SideInit, takeTurns } from './sides.ts';

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
 * The same where one client process calls a server process of each: what the client has become in this start is the same
 * for all of them, and they take turns in each of its rounds.
 */
export async function protectedAgainstBareByOneClient(init: CallsInit, client: SideInit): Promise<Row[]> {
  const figures = await figuresOf<Kind>(client, init.rounds);
  const of = (kind: Kind) => figures.map((round) => round[kind]);
  return rowsOf(init, { bare: of('bare'), again: of('again'), protected: of('protected') });
}

/** Where there is nothing bare that it could be compared with; `note` says why. */
export async function protectedAlone(
  { name, unit, rounds, note }: Omit<CallsInit, 'target'> & { readonly note: string },
  client: SideInit,
): Promise<Row[]> {
  const figures = await figuresOf<'protected'>(client, rounds);
  return [amountRow({ name, unit, note }, median(figures.map((round) => round.protected)))];
}

/** A row that says why, where there can be none. */
export async function rowsOrWhyNot(name: string, run: () => Promise<Row[]>): Promise<Row[]> {
  try {
    return await run();
  } catch (error) {
    const why =
      error instanceof NotMeasured ? error.message : `it failed: ${error instanceof Error ? error.message : error}`;
    return [unknownRow(name, why)];
  }
}

async function figuresOf<Name extends Kind>(client: SideInit, rounds: Rounds): Promise<Record<Name, number>[]> {
  return (await takeTurns<'client', Record<Name, number>>({ client }, rounds)).client;
}

function rowsOf({ name, unit, target }: CallsInit, figures: Record<Kind, number[]>): Row[] {
  return [
    ratioRow({ name, unit, target, peerName: 'bare SDK' }, figures.protected, figures.bare),
    ratioRow({ name: `${name}, A/A`, unit, peerName: 'the same again' }, figures.again, figures.bare),
  ];
}
