/** Functions for threads that never return and never listen. Each says first, in a file, which thread it is in. */
import { readlinkSync, renameSync, writeFileSync } from 'node:fs';

interface Args {
  readonly announceTo: string;
}

function announce({ announceTo }: Args): void {
  // `PID/task/TID`. Renamed, so that whoever finds the file finds all of it.
  writeFileSync(`${announceTo}.new`, readlinkSync('/proc/thread-self'));
  renameSync(`${announceTo}.new`, announceTo);
}

export function spin(args: Args): never {
  announce(args);
  for (;;);
}

export function badRegex(args: Args): boolean {
  announce(args);
  return /^(a+)+$/.test(`${'a'.repeat(50)}!`);
}

export function atomicsWait(args: Args): string {
  announce(args);
  return Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

export async function microtasks(args: Args): Promise<never> {
  announce(args);
  for (;;) await undefined;
}
