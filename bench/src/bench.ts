/** A bench: what `npm run bench -- NAME` runs. */
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

/** Whole calls, protected against bare; and bare against bare, which is what the noise looks like in that run. */
export async function protectedAgainstBare(init: CallsInit, script: string): Promise<Row[]> {
  const bare = { script, args: ['bare'] };
  const sides = { bare, again: bare, protected: { script, args: ['protected'] } };
  const figures = await takeTurns(sides, init.rounds);
  const { name, unit, target } = init;
  return [
    ratioRow({ name, unit, target, peerName: 'bare SDK' }, figures.protected, figures.bare),
    ratioRow({ name: `${name}, A/A`, unit, peerName: 'the same again' }, figures.again, figures.bare),
  ];
}
