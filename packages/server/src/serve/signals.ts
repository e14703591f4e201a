/**
 * The end of a served process by SIGTERM or SIGINT: its calls are stopped and answered first, and then it ends by that
 * very signal, so that whoever waits for it sees which. A second signal ends it at once.
 *
 * This takes the place of the default action, as little as that is: who listens for the signal in the author's own
 * program decides alone, and nothing is done here. Hears nothing while the main loop is blocked; for that, and for
 * SIGKILL, there is the reaper (`core/work/process/reaper.ts`).
 */
import { constants } from 'node:os';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;
type EndSignal = (typeof SIGNALS)[number];

/** ms that a client may take to read the answers; it may have stopped to read. */
export const READ_MS = 1_000;
/** ms after which a process that its own signal has not ended leaves by itself: the first one of a container. */
const STILL_HERE_MS = 500;

/** One for each server that has the process: what is to be done before it may end. */
const stops = new Set<() => Promise<void>>();

/**
 * @param stop called at most once, at the first signal; the process ends when it has settled
 * @returns takes it back
 */
export function stopOnSignals(stop: () => Promise<void>): () => void {
  if (stops.size === 0) for (const signal of SIGNALS) process.on(signal, take);
  stops.add(stop);
  return () => {
    stops.delete(stop);
    if (stops.size === 0) letGo();
  };
}

/** Resolves when what was written to stdout has been read from it, or it will never be. */
export function stdoutRead(): Promise<void> {
  return new Promise((resolve) => void process.stdout.write('', () => resolve()));
}

function take(signal: EndSignal): void {
  if (process.listenerCount(signal) > 1 + signalExitListeners()) return;
  // From now on each of them has its default action again.
  letGo();
  void end(signal);
}

async function end(signal: EndSignal): Promise<void> {
  await Promise.allSettled([...stops].map((stop) => stop()));
  // The answers of what was stopped are promises of the SDK, some turns behind.
  await new Promise(setImmediate);
  await Promise.race([stdoutRead(), new Promise((resolve) => setTimeout(resolve, READ_MS))]);
  process.kill(process.pid, signal);
  setTimeout(() => process.exit(128 + constants.signals[signal]), STILL_HERE_MS);
}

function letGo(): void {
  for (const signal of SIGNALS) process.off(signal, take);
}

/**
 * The package `signal-exit` (execa has it, and many others) listens only in order to tidy up, and raises the signal again
 * once it is alone; two that wait for each other to go would keep the process for good.
 */
function signalExitListeners(): number {
  const shared = globalThis as { [of: symbol]: { count?: number } | undefined };
  const older = process as { __signal_exit_emitter__?: { count?: number } };
  return (shared[Symbol.for('signal-exit emitter')]?.count ?? 0) + (older.__signal_exit_emitter__?.count ?? 0);
}
