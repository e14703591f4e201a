/**
 * What a run comes to: the shapes that the probe returns, the reports print and `--json` writes.
 */
import type { CaseName, ExpectedOutcome } from './cases/table.ts';
import type { Era, Transport } from './events.ts';

/** The boundaries' sides, from the caller to the work. */
export type Place = 'caller' | 'wire' | 'handler' | 'worker';

export type ObservationName =
  | 'stop-confirmed'
  | 'committed-after-signal'
  | 'committed-in-race'
  | 'not-on-wire'
  | 'lost-in-runtime'
  | 'server-died'
  | 'witness-disagrees'
  | 'state-unreadable'
  | 'answered-after-cancel'
  | 'signalled-after-settle'
  | 'control-failed'
  | 'not-visible';

/** How bad an attempt is, worst first. An attempt is as bad as its worst observation. */
export const GRADES = ['leaked', 'unknown', 'noisy', 'as expected'] as const;
export type Grade = (typeof GRADES)[number];

export interface Observation {
  readonly name: ObservationName;
  readonly grade: Grade;
  /** What it shows, in one sentence, without a cause. */
  readonly shows: string;
  /** What it leaves open. */
  readonly leavesOpen: string;
  /** Where to look next. */
  readonly lookNext: string;
  /** Where the stop was last seen. Absent where the observation says nothing of it. */
  readonly lastSeen?: Place;
  /** The first place where it should have been seen, and was not. */
  readonly firstNotSeen?: Place;
}

/** How the handler ended, as far as it can be seen. `ran on`: it returned as if nothing had happened. */
export type HandlerEnd = 'acted' | 'ended-by-runtime' | 'ran on' | 'unknown';

export interface AttemptResult {
  readonly testId: string;
  readonly attempt: number;
  readonly grade: Grade;
  /** What came out, in a word: the expected outcome's name, or that of the worst observation. */
  readonly outcome: ExpectedOutcome | ObservationName;
  readonly observations: readonly Observation[];
  readonly handlerEnd: HandlerEnd;
  /** ms from the abort to the stop that the witness saw; absent when it saw none. */
  readonly stopMs?: number;
  /** ms that the first job was held at its gate: to its stop, or until the gate was opened; absent without a job. */
  readonly heldMs?: number;
}

export type CellVerdict = Grade | 'raced' | 'invalid';

export interface Cell {
  readonly case: CaseName;
  readonly verdict: CellVerdict;
  /** The outcomes of its attempts, each once, the most frequent first. */
  readonly outcomes: readonly string[];
  /** Where the stop was last seen, in words, of the worst attempt; empty where there is nothing to say. */
  readonly boundary: string;
  readonly handlerEnds: readonly HandlerEnd[];
  readonly attempts: readonly AttemptResult[];
  /** Attempts whose phase was not reached; never in `attempts`. */
  readonly invalidPhases: number;
}

/** Something that the run did not see, and what would have been needed to act on it. */
export interface Unknown {
  readonly era: Era;
  readonly revision: string;
  readonly transport: Transport;
  readonly case: CaseName;
  readonly boundaryLastSeen: string;
  readonly watchedMs: number;
  /** Which state could not be read, or what is open, in one sentence. */
  readonly what: string;
}

export interface EraResult {
  readonly era: Era;
  readonly revision: string;
  readonly transport: Transport;
  readonly client: string;
  readonly server: string;
  readonly cells: readonly Cell[];
}

export interface ProbeResult {
  /** Of this shape; raised when it changes. */
  readonly schema: 1;
  readonly estop: string;
  readonly command: readonly string[];
  /** Over HTTP, as it was given. */
  readonly url?: string;
  readonly tool: string;
  readonly windowMs: number;
  readonly timeoutMs: number;
  readonly repeats: number;
  readonly eras: readonly EraResult[];
  readonly unknowns: readonly Unknown[];
  /** Sentences for the reader: eras not offered, frequent invalid phases, limits of the witness. */
  readonly notes: readonly string[];
  readonly durationMs: number;
  readonly log: string;
}

/** The run could not be made: bad usage, a subject that does not start or answer, a broken baseline. Exit code 3. */
export class ProbeFailure extends Error {
  override name = 'ProbeFailure';
  /** Where the log is, when there is one already. */
  readonly log: string | undefined;

  constructor(message: string, log?: string) {
    super(message);
    this.log = log;
  }
}
