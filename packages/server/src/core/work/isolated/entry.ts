/**
 * Runs in the thread or the process: imports the module, runs one function of it, sends back what came of it.
 *
 * An exception outside the function's own promise ends the thread or the process, and with it this call alone.
 */
import type { IsolatedContext, Progress } from '../../context.ts';
import { StopReason } from '../../reason.ts';
import { createController } from '../../signal.ts';
import { putTogether, takeApart } from './crossing.ts';
import { type FromIsolated, hrtimeMs, type RunMessage, STOP_KINDS, type ToIsolated } from './protocol.ts';
import { Questions } from './questions.ts';

/** How it reaches the side of the call. */
export interface EntryPort {
  readonly place: 'thread' | 'process';
  /** @throws for what cannot be cloned */
  post(message: FromIsolated): void;
  /** 0, or 1 + the place in `STOP_KINDS` of the stop of the call: known before any message is read. */
  raised(): number;
  /** A better error for one that was thrown, where there is one. Default: none is. */
  explain?(error: unknown): unknown;
}

/** @returns takes each message that comes; the first `run` counts */
export function enter(module: string, port: EntryPort): (message: ToIsolated) => void {
  return new Entry(module, port).hear;
}

class Entry {
  readonly #port: EntryPort;
  readonly #module: string;
  readonly #loaded: Promise<Record<string, unknown>>;
  readonly #controller = createController();
  readonly #questions: Questions;
  #run: RunMessage | undefined;
  #reason: StopReason | undefined;
  #deadlineAt: number | null = null;

  constructor(module: string, port: EntryPort) {
    this.#module = module;
    this.#port = port;
    this.#questions = new Questions(port);
    this.#loaded = import(module) as Promise<Record<string, unknown>>;
    this.#loaded.then(
      () => port.post({ type: 'ready' }),
      () => port.post({ type: 'unfit' }),
    );
  }

  readonly hear = (message: ToIsolated): void => {
    if (message.type === 'run') {
      if (this.#run !== undefined) return;
      this.#run = message;
      this.#deadlineAt = message.deadlineAt;
      void this.#answer(message);
    } else if (message.type === 'stop') {
      this.#stop(new StopReason(message.kind, message.message, message));
    } else {
      this.#deadlineAt = message.deadlineAt;
      const { id } = message;
      if (message.type === 'answered') this.#questions.answered(id, message.value);
      else this.#questions.rejected(id, putTogether(message.error));
    }
  };

  async #answer(run: RunMessage): Promise<void> {
    const message = await this.#call(run).then(
      (value): FromIsolated => ({ type: 'returned', value }),
      (error: unknown): FromIsolated => ({ type: 'threw', error: takeApart(this.#explain(error)) }),
    );
    await printed();
    try {
      this.#port.post(message);
    } catch (error) {
      // Only what cannot be cloned comes here.
      const text = `estop: what ${run.what} returned cannot leave its ${this.#port.place}: ${(error as Error).message}`;
      this.#port.post({ type: 'threw', error: takeApart(new TypeError(text)) });
    }
  }

  #explain(error: unknown): unknown {
    return this.#port.explain === undefined ? error : this.#port.explain(error);
  }

  async #call(run: RunMessage): Promise<unknown> {
    const fn = (await this.#loaded)[run.export];
    if (typeof fn !== 'function') {
      throw new TypeError(`estop: ${run.what}: ${this.#module} exports no function "${run.export}"`);
    }
    this.#look();
    return fn(run.args, this.#context(run.given));
  }

  /** The flag outruns the message; where it is seen first, the kind is all that is known. */
  #look(): StopReason | undefined {
    if (this.#reason === undefined) {
      const raised = this.#port.raised();
      const kind = STOP_KINDS[raised - 1] ?? 'cancelled';
      if (raised !== 0) this.#stop(new StopReason(kind, `${this.#run?.what} was stopped: ${kind}`));
    }
    return this.#reason;
  }

  #stop(why: StopReason): void {
    if (this.#reason !== undefined) return;
    this.#reason = why;
    this.#questions.stop(why);
    this.#controller.abort(why);
  }

  #context(given: object): IsolatedContext {
    const [look, controller, questions] = [() => this.#look(), this.#controller, this.#questions];
    const context: IsolatedContext = {
      ...given,
      signal: controller.signal,
      get isCancelled() {
        return look() !== undefined;
      },
      throwIfStopped() {
        const why = look();
        if (why !== undefined) throw why;
      },
      remaining: () => {
        if (look() !== undefined) return 0;
        return this.#deadlineAt === null ? Infinity : Math.max(0, this.#deadlineAt - hrtimeMs());
      },
      progress: (progress: Progress) => {
        if (look() === undefined) this.#tell({ type: 'progress', progress: { ...progress } });
      },
      log: (level, data, logger) => {
        if (look() === undefined) this.#tell({ type: 'told', what: 'log', args: [level, data, logger] });
      },
      elicitInput: (params, options) => questions.ask('elicitInput', params, options, look()) as never,
      requestSampling: (params, options) => questions.ask('requestSampling', params, options, look()) as never,
      get extra() {
        return context;
      },
    };
    return context;
  }

  #tell(message: FromIsolated): void {
    try {
      this.#port.post(message);
    } catch {
      // What cannot be cloned is lost: nobody waits for it.
    }
  }
}

/** It is ended as soon as it has answered: what it printed has to be across by then. */
async function printed(): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) {
    if (stream.writableLength > 0 && stream.writable) await new Promise((done) => stream.write('', done));
  }
}
