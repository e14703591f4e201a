/**
 * What the caller of a stopped call is told, if anything.
 *
 * Silence only for what the client itself cancelled, or can no longer hear. A deadline, a shutdown, an overload and a
 * cancel by the program around the server are answered.
 */
import { type Call, REQUEST_CANCELLED, REQUEST_CANCELLED_TEXT, type StopReason } from '../core/index.ts';

/**
 * Marks an answer that must not reach the wire. It travels as `error.data`, which the SDK hands on as it is, so that
 * exactly this frame is dropped, whatever its id and whoever shares it.
 */
export const SILENCE: unique symbol = Symbol('estop.silence');

/** Implementation-defined server error (JSON-RPC 2.0, section 5.1). */
const STOPPED = -32_000;

/** Where a tool's result carries the outcome; never `structuredContent`, which clients validate. */
export const OUTCOME_META = 'estop/outcome';

/** An error in the shape that the SDK turns into a JSON-RPC error response. */
class AnswerError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** An owner that wants to know that one of its calls will have no answer. */
interface Silenced {
  silenced?(call: Call): void;
}

/** @returns a tool's result; @throws what the SDK answers as an error, or drops */
export function answerStop(call: Call, reason: StopReason): unknown {
  const { kind, by } = reason;
  if (kind === 'disconnected' || (kind === 'cancelled' && by !== 'library')) {
    (call.owner as Silenced | undefined)?.silenced?.(call);
    throw new AnswerError(REQUEST_CANCELLED, REQUEST_CANCELLED_TEXT, SILENCE);
  }
  const outcome = describe(call, reason);
  if (kind === 'cancelled') throw new AnswerError(REQUEST_CANCELLED, REQUEST_CANCELLED_TEXT, outcome);
  if (call.method !== 'tools/call') throw new AnswerError(STOPPED, reason.message, outcome);
  return {
    content: [{ type: 'text', text: reason.message }],
    isError: true,
    _meta: { [OUTCOME_META]: outcome },
  };
}

/** As it is known at the moment of the answer: the handler may settle, and the work end, later. */
function describe(call: Call, reason: StopReason): object {
  const { handler, work } = call.outcome();
  return {
    kind: reason.kind,
    ...(reason.timeoutMs !== undefined && { timeoutMs: reason.timeoutMs }),
    handler,
    work,
  };
}
