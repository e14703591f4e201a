/**
 * Where a process starts: ties what `entry.ts` does to the IPC channel, the stop flag and the memory limit.
 *
 *     node process-entry.js MODULE MEMORY_MB      descriptor 5: the stop flag, where there is one
 *
 * Ends itself when the channel does: then nobody is there who could be answered.
 */
import { readSync } from 'node:fs';
import { takeApart } from './crossing.ts';
import { enter } from './entry.ts';
import { FLAG_DESCRIPTOR, FLAG_VARIABLE, type FromIsolated } from './protocol.ts';

const [module = '', memoryMb = ''] = process.argv.slice(2);
const hasFlag = process.env[FLAG_VARIABLE] !== undefined;
delete process.env[FLAG_VARIABLE];
const flag = new Uint8Array(1);

function raised(): number {
  if (flag[0] === 0 && hasFlag) readSync(FLAG_DESCRIPTOR, flag, 0, 1, 0);
  return flag[0] ?? 0;
}

function post(message: FromIsolated): void {
  // Nobody is there any more where it fails later than by what cannot be cloned.
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}

/** What the kernel refuses shows as an error that says nothing of a limit, where it does not end the process. */
function explain(error: unknown): unknown {
  if (memoryMb === '' || !isRefusal(error)) return error;
  return new RangeError(`estop: over its memory limit of ${memoryMb} MB`, { cause: error });
}

/** V8's own words: its errors have no code. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof RangeError)) return false;
  const isNodes = (error as NodeJS.ErrnoException).code === 'ERR_MEMORY_ALLOCATION_FAILED';
  return isNodes || /^(Array buffer allocation failed$|WebAssembly\.Memory\b)/.test(error.message);
}

process.on('message', enter(module, { place: 'process', post, raised, explain }));
process.on('disconnect', () => process.exit());
// It goes the way that it would go anyway; only that its call hears why.
process.on('uncaughtExceptionMonitor', (error) => {
  if (process.listenerCount('uncaughtException') > 0) return;
  post({ type: 'threw', error: takeApart(explain(error)) });
});
