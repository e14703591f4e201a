/**
 * `@estop/server/core`: the engine. No dependency, and no MCP: methods, names and scopes are words to it.
 */
export { Call, type CallInit, type Owner } from './call.ts';
export { type Clock, systemClock, type TimerHandle } from './clock.ts';
export type { CallContext, Progress } from './context.ts';
export { checkTimeout, firstGiven, TIMEOUT_VARIABLE, timeoutFromEnvironment } from './deadline.ts';
export { Engine, type EngineOptions, type Stats } from './engine.ts';
export type { CallState, HandlerFact, Outcome, WorkFact } from './outcome.ts';
export {
  type CancelledBy,
  cancelled,
  cleanReason,
  deadline,
  disconnected,
  REQUEST_CANCELLED,
  REQUEST_CANCELLED_TEXT,
  type StopKind,
  StopReason,
} from './reason.ts';
export { type CancelResult, Registry } from './registry.ts';
export { isValidRequestId, type RequestId } from './request-id.ts';
export { runInThread, type ThreadOptions } from './work/thread.ts';
export type { Work } from './work/work.ts';
