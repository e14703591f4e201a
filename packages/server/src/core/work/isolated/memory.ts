/**
 * How much a process of Node may make for itself, beside its heap: what the kernel is told as `RLIMIT_DATA`.
 *
 * A bare Node has some of that already, 48 MB with Node 20 and 560 with Node 24, where V8 reserves more; so it is asked,
 * once. Does not promise that a heap of any size is to be had whole: that was measured with 64 MB, on Node 20, 22 and 24.
 */
import { spawnSync } from 'node:child_process';

/** MB for V8's young generation, which has up to 48, and for what else Node makes as it runs. */
const ROOM_MB = 80;
/** ms; it takes about 40. */
const ASK_MS = 10_000;
const ASK = `/VmData:\\s+(\\d+)/.exec(require('node:fs').readFileSync('/proc/self/status', 'utf8'))[1]`;

let bareMb: number | undefined;

/**
 * Asks at the first call, and blocks the main thread for that: to be called when a server is set up.
 *
 * @returns MB, for all that a process with such a heap makes; `undefined` where the kernel bounds nothing, or Node could
 *   not be asked
 */
export function dataMbFor(heapMb: number): number | undefined {
  if (process.platform !== 'linux') return undefined;
  bareMb ??= Number(spawnSync(process.execPath, ['-p', ASK], { encoding: 'utf8', timeout: ASK_MS }).stdout) / 1_024;
  return bareMb > 0 ? heapMb + Math.ceil(bareMb) + ROOM_MB : undefined;
}
