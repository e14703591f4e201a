/**
 * The vocabulary of the log: every line that a run can write, and nothing else.
 *
 * A line says what was seen, by whom and in which order; it never says what that means. Verdicts are computed from
 * these lines alone (`judge.ts`), so whoever has the log can compute them again.
 */
import type { CaseName, Checkpoint, Gate } from './cases/table.ts';

/** `legacy`: protocol revisions up to 2025-11-25. `modern`: 2026-07-28. */
export type Era = 'legacy' | 'modern';

/** `stdio`: the pipes of the server's process. `http`: Streamable HTTP. */
export type Transport = 'stdio' | 'http';

/** Who saw it. The harness, the control plane (told by the handler), the witness, the tee on the pipes or the proxy. */
export type Source = 'harness' | 'handler' | 'witness' | 'wire';

/** How a call ended for its caller. `rejected` is a rejection that the abort did not cause. */
export type Settlement = 'resolved' | 'rejected-as-aborted' | 'rejected' | 'pending';

/** A JSON-RPC id as it stood on the wire: its type counts, `7` and `"7"` are two ids. */
export type WireId = string | number;

/** What the worker's state machine says of one job. `committed` is `granted` with the marker written. */
export type JobState = 'waiting' | 'granted' | 'committed' | 'stopped';

/** One frame that crossed the wire, reduced to what a verdict needs. */
export interface WireFrame {
  readonly direction: 'to-server' | 'to-client';
  readonly kind: 'request' | 'response' | 'notification';
  readonly method?: string;
  /** Of a request or a response: its id. */
  readonly wireId?: WireId | null;
  /** Of `notifications/cancelled`: the id that it names, with its type. */
  readonly cancels?: unknown;
  /** Of `notifications/progress`: the token that it names. */
  readonly progressToken?: unknown;
  /** Of a response: whether it carries an error, or a tool's `isError`. */
  readonly isError?: boolean;
}

/** What was seen on the wire of an attempt's calls. */
export type WireEvent =
  | ({ event: 'wire' } & WireFrame)
  /** HTTP: the POST that carried this request or this cancel was answered. */
  | ({ event: 'post_answered'; status: number } & Pick<WireFrame, 'wireId' | 'cancels'>)
  /** HTTP: that POST's response stream was closed before its end. A stream that ends by itself leaves no line. */
  | ({ event: 'stream_closed'; by: 'client' | 'server' } & Pick<WireFrame, 'wireId' | 'cancels'>);

/** Events that belong to a run or to one subject process. */
export type RunEvent =
  | { event: 'run_started'; estop: string; node: string; platform: string; command: readonly string[]; options: object }
  | { event: 'subject_started'; pid: number; era: Era; command: readonly string[] }
  | { event: 'subject_stderr'; text: string }
  /** Of a server over HTTP: over stdio its stdout has the frames. */
  | { event: 'subject_stdout'; text: string }
  | { event: 'negotiated'; era: Era; revision: string; transport: Transport; client: string; server: string }
  | { event: 'connect_failed'; era: Era; reason: string }
  | { event: 'subject_exited'; pid: number; code: number | null; signal: string | null; expected: boolean }
  | { event: 'not_json'; text: string }
  | { event: 'rerun_alone'; case: CaseName; because: string }
  | { event: 'run_interrupted'; reason: string }
  | { event: 'run_ended' };

/** Events that belong to one attempt; every one of these lines carries its `testId`. */
export type AttemptEvent =
  // harness
  | {
      event: 'attempt_started';
      case: CaseName;
      attempt: number;
      era: Era;
      transport: Transport;
      pid: number;
      alone: boolean;
    }
  | { event: 'client_sent' }
  | { event: 'phase_established'; case: CaseName }
  | { event: 'invalid_phase'; missing: string; withinMs: number }
  | { event: 'client_abort' }
  | { event: 'cancel_not_observed'; withinMs: number }
  | { event: 'race_step_begins' }
  | { event: 'gate_opened'; gate: Gate }
  | { event: 'client_settled'; settlement: Settlement; detail?: string }
  | { event: 'marker_read'; exists: boolean; lines: number }
  | { event: 'marker_unreadable'; reason: string }
  | { event: 'worker_state'; jobs: readonly { job: number; state: JobState }[] }
  | { event: 'worker_state_unreadable'; reason: string }
  | { event: 'server_checked'; alive: boolean; samePid: boolean; answers: boolean }
  | { event: 'window_ended'; windowMs: number }
  /** The harness ends the subject's process now: what closes from here on is closed by that. */
  | { event: 'attempt_ended' }
  // handler, through the control plane. `invocation` tells two runs of a handler for one test id apart.
  | { event: 'handler_started'; invocation: string }
  | { event: 'handler_signal'; invocation: string; reason?: string }
  | { event: 'handler_acted'; invocation: string; checkpoint: Checkpoint }
  | { event: 'handler_got_result'; invocation: string }
  | { event: 'handler_exited'; invocation: string; how: 'returned' | 'threw' }
  | { event: 'handler_gone'; invocation: string }
  | WorkerEvent
  | WireEvent;

/** What the witness tells of one job. */
export type WorkerEvent =
  | { event: 'worker_started'; job: number; by: 'url' }
  /** `startTime`: absent where there is no `/proc`. `unchecked`: why `pid` is not known to be the worker's. */
  | {
      event: 'worker_started';
      job: number;
      by: 'command';
      pid: number;
      startTime?: string | undefined;
      unchecked?: string | undefined;
    }
  /** A command's control connection ended while it waited. Half of the evidence of a stop, and no stop. */
  | { event: 'worker_disconnected'; job: number; pid: number }
  /** Of a command: its connection has ended, and its process is gone too. */
  | { event: 'worker_stopped'; job: number }
  | { event: 'worker_granted'; job: number }
  | { event: 'worker_committed'; job: number }
  | { event: 'worker_closed_after_grant'; job: number };

/** What every line has: its place in the one order, its time, and who saw it. */
interface LineHead {
  /** Given by the harness as the line is written; the order of gates outranks times. */
  readonly seq: number;
  /** `process.hrtime.bigint()` of the process that saw it, in ns, as a decimal string: one host, one clock. */
  readonly at: string;
  readonly source: Source;
}

export type AttemptLine = LineHead & { readonly testId: string } & AttemptEvent;
export type RunLine = LineHead & { readonly testId?: undefined } & RunEvent;
export type LogLine = AttemptLine | RunLine;
