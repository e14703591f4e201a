/**
 * The client of a call, for a function that has no context of the SDK: its progress, its log, and what it is asked.
 *
 * All of it goes through the context that is bound to the call: quiet after a stop, and a question ends with the call.
 */
import type { IsolatedFunction, Progress } from '../core/index.ts';
import { requestOf } from './extra.ts';
import type { HandlerContext } from './shapes.ts';

/** What a client of the legacy era can be asked in the midst of a call. */
const QUESTIONS = ['elicitInput', 'requestSampling'] as const;
export type Question = (typeof QUESTIONS)[number];

/** For a function that runs elsewhere. */
export function clientOf(context: HandlerContext): Pick<IsolatedFunction, 'given' | 'onProgress' | 'onTold' | 'onAsk'> {
  return {
    given: roundOf(context),
    onProgress: (progress) => tell(context, progress),
    onTold(what, args) {
      if (what === 'log') log(context, args);
    },
    onAsk(what, [params, options], signal) {
      const question = QUESTIONS.find((known) => known === what);
      if (question === undefined) throw new TypeError(`estop: nobody answers ${what}()`);
      return askClient(context, question, params, { ...(options as object), signal });
    },
  };
}

/** What this round of the call brings, see `IsolatedContext`. */
function roundOf(context: HandlerContext): object {
  const { inputResponses, requestState } = requestOf(context);
  const state: unknown = typeof requestState === 'function' ? requestState() : undefined;
  return {
    ...(inputResponses !== undefined && { inputResponses }),
    ...(state !== undefined && { requestState: state }),
  };
}

/** Writes progress to the client, if it asked for it. */
export function tell(context: HandlerContext, progress: Progress): void {
  const { _meta, notify } = requestOf(context);
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return;
  void notify({ method: 'notifications/progress', params: { progressToken, ...progress } });
}

/** @param args those of the SDK's `log`: level, data, logger */
export function log(context: HandlerContext, args: readonly unknown[]): void {
  void requestOf(context).log(...(args as never[]));
}

export function askClient(
  context: HandlerContext,
  question: Question,
  params: unknown,
  options: object | undefined,
): Promise<unknown> {
  return requestOf(context)[question](...([params, options] as never[])) as Promise<unknown>;
}
