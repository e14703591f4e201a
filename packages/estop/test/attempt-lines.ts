/**
 * Builds the lines of one attempt, in order, as a run would write them. For tests of the judge.
 *
 * `attempt('during_work')` begins it and establishes its phase; `watched()` ends it with all that is read at its end.
 * Nothing is added that was not asked for: what a test leaves out was not seen.
 */
import type { CaseName, Gate } from '../src/probe/cases/table.ts';
import type {
  AttemptEvent,
  AttemptLine,
  Era,
  JobState,
  Settlement,
  Source,
  Transport,
  WireFrame,
  WireId,
} from '../src/probe/events.ts';
import { judge } from '../src/probe/judge/judge.ts';
import type { AttemptResult, ObservationName } from '../src/probe/result.ts';

const WINDOW_MS = 2_000;
const MS = 1_000_000n;

type Jobs = readonly { readonly job: number; readonly state: JobState }[];

/** What the form of a cancel depends on. */
interface Wire {
  readonly era: Era;
  readonly transport: Transport;
}

const OVER_STDIO: Wire = { era: 'legacy', transport: 'stdio' };

export class Attempt {
  readonly #lines: AttemptLine[] = [];
  readonly #testId: string;
  #at = 1_000_000_000_000n;

  constructor(name: CaseName, number = 1, { era, transport }: Wire = OVER_STDIO) {
    this.#testId = `${name}-${number}`;
    this.add('harness', {
      event: 'attempt_started',
      case: name,
      attempt: number,
      era,
      transport,
      pid: 42,
      alone: false,
    });
  }

  get lines(): readonly AttemptLine[] {
    return [...this.#lines];
  }

  add(source: Source, event: AttemptEvent): this {
    this.#lines.push({ seq: this.#lines.length + 1, at: String(this.#at), source, testId: this.#testId, ...event });
    return this.after(1);
  }

  /** Lets time pass. */
  after(ms: number): this {
    this.#at += BigInt(Math.round(ms * 10)) * (MS / 10n);
    return this;
  }

  // ---- the caller and the harness
  sent(wireId: WireId = 3): this {
    this.add('harness', { event: 'client_sent' });
    return this.request(wireId);
  }

  phase(name: CaseName): this {
    return this.add('harness', { event: 'phase_established', case: name });
  }

  aborted(): this {
    return this.add('harness', { event: 'client_abort' });
  }

  /** The abort, and its notification on the wire. */
  cancelled(cancels: unknown = 3): this {
    return this.aborted().cancelOnWire(cancels);
  }

  notObserved(): this {
    return this.add('harness', { event: 'cancel_not_observed', withinMs: 5_000 }).add('harness', {
      event: 'race_step_begins',
    });
  }

  opened(...gates: Gate[]): this {
    for (const gate of gates) this.add('harness', { event: 'gate_opened', gate });
    return this;
  }

  allOpened(): this {
    return this.opened('before_work', 'allow_commit', 'release_response');
  }

  settled(settlement: Settlement = 'rejected-as-aborted', detail?: string): this {
    return this.add('harness', { event: 'client_settled', settlement, ...(detail === undefined ? {} : { detail }) });
  }

  // ---- what is read at the end
  marker(exists: boolean): this {
    return this.add('harness', { event: 'marker_read', exists, lines: exists ? 1 : 0 });
  }

  state(...states: JobState[]): this {
    const jobs: Jobs = states.map((state, i) => ({ job: i + 1, state }));
    return this.add('harness', { event: 'worker_state', jobs });
  }

  server(how: { alive?: boolean; samePid?: boolean; answers?: boolean } = {}): this {
    return this.add('harness', { event: 'server_checked', alive: true, samePid: true, answers: true, ...how });
  }

  windowEnded(): this {
    return this.after(WINDOW_MS).add('harness', { event: 'window_ended', windowMs: WINDOW_MS });
  }

  /** The window, then the marker, the worker's state and the server. */
  watched({ marker, state = [] }: { marker: boolean; state?: JobState[] }): this {
    return this.windowEnded()
      .marker(marker)
      .state(...state)
      .server();
  }

  // ---- the wire
  frame(frame: WireFrame): this {
    return this.add('wire', { event: 'wire', ...frame });
  }

  request(wireId: WireId): this {
    return this.frame({ direction: 'to-server', kind: 'request', method: 'tools/call', wireId });
  }

  cancelOnWire(cancels: unknown = 3): this {
    return this.frame({ direction: 'to-server', kind: 'notification', method: 'notifications/cancelled', cancels });
  }

  /** HTTP: the response stream of a request was closed before its end. */
  streamClosed(by: 'client' | 'server' = 'client', wireId: WireId = 3): this {
    return this.add('wire', { event: 'stream_closed', by, wireId });
  }

  response(wireId: WireId = 3): this {
    return this.frame({ direction: 'to-client', kind: 'response', wireId, isError: false });
  }

  progress(progressToken: unknown = 3): this {
    return this.frame({
      direction: 'to-client',
      kind: 'notification',
      method: 'notifications/progress',
      progressToken,
    });
  }

  // ---- the handler
  handlerStarted(invocation = 'a'): this {
    return this.add('handler', { event: 'handler_started', invocation });
  }

  delivered(invocation = 'a'): this {
    return this.add('handler', { event: 'handler_signal', invocation });
  }

  acted(invocation = 'a'): this {
    this.add('handler', { event: 'handler_acted', invocation, checkpoint: 'waiting_on_work' });
    return this.exited('threw', invocation);
  }

  exited(how: 'returned' | 'threw', invocation = 'a'): this {
    return this.add('handler', { event: 'handler_exited', invocation, how });
  }

  gone(invocation = 'a'): this {
    return this.add('handler', { event: 'handler_gone', invocation });
  }

  gotResult(invocation = 'a'): this {
    return this.add('handler', { event: 'handler_got_result', invocation });
  }

  // ---- the witness
  started(job = 1): this {
    return this.add('witness', { event: 'worker_started', job, by: 'url' });
  }

  /** A command, with its pid; `unchecked`: that pid is not known to be its own. */
  command(job = 1, unchecked?: string): this {
    const known = unchecked === undefined ? { startTime: '777' } : { unchecked };
    return this.add('witness', { event: 'worker_started', job, by: 'command', pid: 70 + job, ...known });
  }

  disconnected(job = 1): this {
    return this.add('witness', { event: 'worker_disconnected', job, pid: 70 + job });
  }

  stopped(job = 1): this {
    return this.add('witness', { event: 'worker_stopped', job });
  }

  granted(job = 1): this {
    return this.add('witness', { event: 'worker_granted', job });
  }

  committed(job = 1): this {
    return this.granted(job).add('witness', { event: 'worker_committed', job });
  }

  // ---- the verdict
  judged({ blackBox = false } = {}): AttemptResult {
    return judge(this.lines, { blackBox });
  }
}

/** An attempt whose call was sent and whose phase is established. */
export function attempt(name: CaseName, number = 1, wire = OVER_STDIO): Attempt {
  const begun = new Attempt(name, number, wire).sent().handlerStarted();
  switch (name) {
    case 'baseline':
    case 'before_work':
      return begun.phase(name);
    case 'held':
    case 'during_work':
      return begun.opened('before_work').started().phase(name);
    case 'after_commit':
      return begun.opened('before_work', 'allow_commit').started().committed().gotResult().phase(name);
    case 'after_settle':
      return begun
        .opened('before_work', 'allow_commit', 'release_response')
        .started()
        .committed()
        .gotResult()
        .exited('returned')
        .response()
        .settled('resolved')
        .phase(name);
  }
}

/** The same without a word from the handler: a black box. */
export function blackBoxAttempt(name: 'during_work' | 'after_commit'): Attempt {
  const begun = new Attempt(name).sent();
  return name === 'during_work'
    ? begun.started().phase(name)
    : begun.opened('allow_commit').started().committed().phase(name);
}

export function names(result: AttemptResult): ObservationName[] {
  return result.observations.map(({ name }) => name);
}
