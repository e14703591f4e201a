/** How long an attempt's first job has been going, in ms, on the one clock of the host; 0 before it started. */
import type { AttemptLine } from '../events.ts';

export function workAgeMs(lines: readonly AttemptLine[]): number {
  const started = lines.find((line) => line.event === 'worker_started');
  return started === undefined ? 0 : Number(process.hrtime.bigint() - BigInt(started.at)) / 1e6;
}
