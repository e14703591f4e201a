/** What a test makes the process say: warnings, and rejections that nobody handled. Empty is the good case. */
import { onTestFinished } from 'vitest';

export interface ProcessEvents {
  readonly warnings: Error[];
  readonly unhandled: unknown[];
  readonly uncaught: unknown[];
}

export function processEvents(): ProcessEvents {
  const events: ProcessEvents = { warnings: [], unhandled: [], uncaught: [] };
  const listeners = {
    warning: (warning: Error) => void events.warnings.push(warning),
    unhandledRejection: (reason: unknown) => void events.unhandled.push(reason),
    uncaughtExceptionMonitor: (error: unknown) => void events.uncaught.push(error),
  };
  for (const [event, listener] of Object.entries(listeners)) process.on(event, listener);
  onTestFinished(() => {
    for (const [event, listener] of Object.entries(listeners)) process.off(event, listener);
  });
  return events;
}
