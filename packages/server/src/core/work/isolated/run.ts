/**
 * One function that runs in a thread or a process of its own, as its call sees it.
 *
 * Settles once: with what the function returned or threw, or with how its thread or process went down. What it asks is
 * put to whoever started it, and taken back when it can no longer hear the answer. Ends nothing: see `Work`.
 */
import type { Call } from '../../call.ts';
import type { Progress } from '../../context.ts';
import type { Body, BodyListener } from './body.ts';
import { putTogether, takeApart } from './crossing.ts';
import { type DeadlineAt, type FromIsolated, hrtimeMs, type RunMessage } from './protocol.ts';

export interface IsolatedFunction {
  /** What `import()` takes: a URL or a package's name. */
  readonly module: string;
  readonly export: string;
  /** Must be cloneable (HTML's structured clone). */
  readonly args: unknown;
  /** Members of its context beside those of a `CallContext`; cloneable too. Default: none. */
  readonly given?: object | undefined;
  readonly onProgress: (progress: Progress) => void;
  /** Hears what the function tells beside its progress: `log`, and its arguments. Must not throw. Default: nobody. */
  readonly onTold?: ((what: string, args: readonly unknown[]) => void) | undefined;
  /**
   * Answers what the function asks: `elicitInput`, say, and its arguments. Default: nobody, and its wait rejects.
   *
   * @param signal fires when the question is taken back, or nobody is left to hear the answer
   */
  readonly onAsk?: ((what: string, args: readonly unknown[], signal: AbortSignal) => unknown) | undefined;
}

/**
 * @param start gives a body for the function, which `run` was given to
 * @returns what the function returned; rejects with what it threw, with the stop's reason when it was ended for that or
 *   the call was stopped already, or with an error that says how it went down
 */
export function runIn(call: Call, fn: IsolatedFunction, start: (run: RunMessage) => Body): Promise<unknown> {
  // Nothing is started after the stop or the answer: the ladder may be done, and nothing would end it.
  if (call.reason !== undefined) return Promise.reject(call.reason);
  if (call.state !== 'running') {
    return Promise.reject(new Error(`estop: ${call.what} is not running, so no function can be started for it`));
  }
  return new Promise((resolve, reject) => {
    const { export: name, args, given = {} } = fn;
    const body = start({ type: 'run', export: name, args, given, what: call.what, deadlineAt: deadlineOf(call) });
    body.listener = new Run(call, fn, body, resolve, reject);
    call.adopt(body.work);
  });
}

function deadlineOf(call: Call): DeadlineAt {
  const left = call.remaining();
  return left === Infinity ? null : hrtimeMs() + left;
}

class Run implements BodyListener {
  readonly #call: Call;
  readonly #fn: IsolatedFunction;
  readonly #body: Body;
  readonly #resolve: (value: unknown) => void;
  readonly #reject: (error: unknown) => void;
  readonly #asked = new Map<number, AbortController>();

  constructor(
    call: Call,
    fn: IsolatedFunction,
    body: Body,
    resolve: (value: unknown) => void,
    reject: (error: unknown) => void,
  ) {
    this.#call = call;
    this.#fn = fn;
    this.#body = body;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  heard(message: FromIsolated): void {
    if (message.type === 'progress') this.#fn.onProgress(message.progress);
    else if (message.type === 'told') this.#fn.onTold?.(message.what, message.args);
    else if (message.type === 'ask') void this.#ask(message.id, message.what, message.args);
    else if (message.type === 'taken-back') this.#asked.get(message.id)?.abort(putTogether(message.reason));
    else if (message.type === 'returned') this.#resolve(message.value);
    else if (message.type === 'threw') this.#reject(putTogether(message.error));
  }

  broke(error: unknown): void {
    this.#reject(error);
  }

  gone(how: string): void {
    const error = this.#call.reason ?? new Error(`estop: the ${this.#body.work.kind} of ${this.#call.what} ${how}`);
    // A promise settles once: this counts only when it went before it had an answer.
    this.#reject(error);
    for (const controller of this.#asked.values()) controller.abort(error);
  }

  async #ask(id: number, what: string, args: readonly unknown[]): Promise<void> {
    const controller = new AbortController();
    this.#asked.set(id, controller);
    try {
      const { onAsk } = this.#fn;
      if (onAsk === undefined) throw new Error(`estop: ${this.#call.what}: ${what}(): there is no client to ask`);
      const value = await onAsk(what, args, controller.signal);
      this.#body.post({ type: 'answered', id, value, deadlineAt: deadlineOf(this.#call) });
    } catch (error) {
      this.#body.post({ type: 'rejected', id, error: takeApart(error), deadlineAt: deadlineOf(this.#call) });
    } finally {
      this.#asked.delete(id);
    }
  }
}
