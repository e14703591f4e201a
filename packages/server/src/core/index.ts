/**
 * `@estop/server/core`: the engine. No dependency, and no MCP: methods, names and scopes are words to it.
 */
export type { Alarm, Alarms } from './alarms.ts';
export { Call } from './call.ts';
export type { CallInit, Owner, RunOptions } from './call-options.ts';
export {
  type CallEvent,
  type Channels,
  type CleanedUpEvent,
  type ClimbedEvent,
  channels,
  type EvictedEvent,
  type ObservedEvent,
  type OutcomeEvent,
  type StopEvent,
  type WaitingEvent,
} from './channels.ts';
export { checkCount, checkFlag, checkMs, show } from './checks.ts';
export { cleanText } from './clean.ts';
export { clientAddress, type TrustedProxies, trustedProxies } from './client-address.ts';
export { type Clock, systemClock, type TimerHandle } from './clock.ts';
export type { AskOptions, CallContext, Elicited, IsolatedContext, LogLevel, Progress, Sampled } from './context.ts';
export { CEILING_FACTOR, checkTimeout, firstGiven, TIMEOUT_VARIABLE, timeoutFromEnvironment } from './deadline.ts';
export { Engine, type EngineOptions, type Stats } from './engine.ts';
export { heard } from './heard.ts';
export { within } from './ladder/rung.ts';
export type { CallState, HandlerFact, Outcome, RungName, WorkFact } from './outcome.ts';
export {
  type CancelledBy,
  cancelled,
  cleanReason,
  deadline,
  disconnected,
  overloaded,
  REQUEST_CANCELLED,
  REQUEST_CANCELLED_TEXT,
  type StopKind,
  StopReason,
  shutdown,
} from './reason.ts';
export type { RecordedLimits } from './recorded.ts';
export { type CancelResult, type Cleanup, type RecordResult, Registry } from './registry.ts';
export { isValidRequestId, type RequestId } from './request-id.ts';
export { type Caller, connectionScope, isShared, scopeOf } from './scope.ts';
export type { Gate, Place, SlotLimits, Slots, SlotUser } from './slots/slots.ts';
export type { StopListener } from './stop.ts';
export { dataMbFor } from './work/isolated/memory.ts';
export { importable } from './work/isolated/module.ts';
export { NodeProcess, type ProcessOptions, runInProcess } from './work/isolated/process.ts';
export type { IsolatedFunction } from './work/isolated/run.ts';
export type { Spares } from './work/isolated/spares.ts';
export { runInThread, Thread, type ThreadOptions } from './work/isolated/thread.ts';
export type { Output, OutputOptions } from './work/process/output.ts';
export type { Child, Exit, SpawnOptions } from './work/process/spawn.ts';
export type { Work } from './work/work.ts';
