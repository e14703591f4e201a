/**
 * The log of a run: one append-only JSONL file, and the one event bus that everything waits on.
 *
 * A line is on the disk before `write` returns, so it is readable after any death. Does not interpret anything, and
 * does not order what other processes saw: `seq` is the order in which the harness came to know.
 */
import { appendFileSync, closeSync, openSync } from 'node:fs';
import type { AttemptEvent, AttemptLine, LogLine, RunEvent, Source } from './events.ts';

type AttemptEntry = { readonly testId: string } & AttemptEvent;

export interface Log {
  readonly file: string;
  readonly lines: readonly LogLine[];
  /** @param at  `process.hrtime.bigint()` of the process that saw it, as a string; default: now, here */
  write(source: Source, entry: AttemptEntry, at?: string): void;
  write(source: Source, entry: RunEvent, at?: string): void;
  /** The lines of one attempt, in order. */
  of(testId: string): readonly AttemptLine[];
  /**
   * Whether the attempt has a line that matches, now or within `timeoutMs`.
   *
   * Rejects with `signal.reason` when the signal fires first.
   */
  waitFor(
    testId: string,
    matches: (line: AttemptLine) => boolean,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<boolean>;
  /** Writing after it is a no-op: a late event of a dying subject is no reason to crash. */
  close(): void;
}

export function openLog(file: string): Log {
  let fd: number | undefined = openSync(file, 'a');
  const lines: LogLine[] = [];
  const attempts = new Map<string, AttemptLine[]>();
  const waiters = new Map<string, Set<(line: AttemptLine) => void>>();

  return {
    file,
    lines,

    write(source: Source, entry: AttemptEntry | RunEvent, at = String(process.hrtime.bigint())) {
      if (fd === undefined) return;
      const line = { seq: lines.length + 1, at, source, ...entry } as LogLine;
      appendFileSync(fd, `${JSON.stringify(line)}\n`);
      lines.push(line);
      if (line.testId === undefined) return;
      const own = attempts.get(line.testId);
      if (own) own.push(line);
      else attempts.set(line.testId, [line]);
      // A copy: a waiter that is told removes itself.
      for (const tell of [...(waiters.get(line.testId) ?? [])]) tell(line);
    },

    of: (testId) => attempts.get(testId) ?? [],

    waitFor(testId, matches, timeoutMs, signal) {
      if (signal?.aborted) return Promise.reject(signal.reason);
      if (attempts.get(testId)?.some(matches)) return Promise.resolve(true);
      return new Promise((resolve, reject) => {
        // Invariant: when the wait has settled, its timer and its two listeners are gone.
        const settle = (): void => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', onAbort);
          const own = waiters.get(testId);
          own?.delete(onLine);
          if (own?.size === 0) waiters.delete(testId);
        };
        const onLine = (line: AttemptLine): void => {
          if (!matches(line)) return;
          settle();
          resolve(true);
        };
        const onAbort = (): void => {
          settle();
          reject(signal?.reason);
        };
        const timer = setTimeout(() => {
          settle();
          resolve(false);
        }, timeoutMs);
        const own = waiters.get(testId);
        if (own) own.add(onLine);
        else waiters.set(testId, new Set([onLine]));
        signal?.addEventListener('abort', onAbort, { once: true });
      });
    },

    close() {
      if (fd !== undefined) closeSync(fd);
      fd = undefined;
    },
  };
}
