/**
 * What a case is: a phase to establish, and what to do and to wait for once it is; on a stage that does it.
 */

import type { AttemptLine, Transport } from '../events.ts';
import type { CaseName, Gate } from './table.ts';
import type { Waits } from './waits.ts';

export interface Case {
  readonly name: CaseName;
  /** Whether the attempt is watched for the window after its gates were opened. */
  readonly watches: boolean;
  /** @throws InvalidPhase */
  establish(stage: Stage): Promise<void>;
  /** Cancels, or holds, and returns when the gates may be opened. */
  observe(stage: Stage): Promise<void>;
}

/** The attempt, as its case sees it. Waits reject when the run is interrupted, and only then. */
export interface Stage {
  /** What the handler sees and does is not visible, and it waits at no gate of ours. */
  readonly blackBox: boolean;
  readonly transport: Transport;
  readonly lines: readonly AttemptLine[];
  readonly waits: Waits;
  /** Opens gates, for good. */
  open(...gates: Gate[]): void;
  /** Whether such a line comes within the phase timeout; false soon when the server's process has ended. */
  sees(matches: (line: AttemptLine) => boolean): Promise<boolean>;
  /** Whether the call settles within the phase timeout. */
  settles(): Promise<boolean>;
  /** The caller presses Stop. */
  abort(): void;
  /** Aborts and waits, gates shut, until the stop is seen; when it is not, what follows is the race step. */
  cancel(stopped: (line: AttemptLine) => boolean): Promise<boolean>;
  /** Whether the server answers another request within the phase timeout, and so has read all that came before it. */
  readsAll(): Promise<boolean>;
  /** Time passes; for the control and for nothing else. */
  hold(ms: number): Promise<void>;
}

/** The phase was not reached: the attempt says nothing of its case. The message names what was missing. */
export class InvalidPhase extends Error {}

/** @throws InvalidPhase when no such event comes within the phase timeout */
export async function requireEvent(stage: Stage, event: AttemptLine['event']): Promise<void> {
  if (!(await stage.sees((line) => line.event === event))) throw new InvalidPhase(event);
}
