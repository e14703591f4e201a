/**
 * Linux: who descends from a process, read at once from the kernel's own lists of children.
 *
 * For the moment right before a signal: who loses its parent by that could not be found by descent afterwards, and a
 * whole look would keep the signal waiting. Sees no orphans. Bounded, because it is read on the main thread.
 */
import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import type { ProcessRow } from './snapshot.ts';
import { isZombie, statOf } from './stat-linux.ts';

/** Some milliseconds; of a larger tree, the look that follows finds the rest. */
const MOST = 500;
/** One for all: a signal waits for this, and half of what it took was to make anew what it takes. */
const CHUNK = Buffer.alloc(4_096);

let isListed: boolean | undefined;

/** @returns `undefined` where the kernel does not list children */
export function descendantsOf(roots: readonly number[]): ProcessRow[] | undefined {
  isListed ??= childrenOf(process.pid, process.pid) !== undefined;
  if (!isListed) return undefined;
  const rows: ProcessRow[] = [];
  const next = [...roots];
  for (let pid = next.shift(); pid !== undefined && rows.length < MOST; pid = next.shift()) {
    for (const child of threadsOf(pid).flatMap((thread) => childrenOf(pid, thread) ?? [])) {
      const stat = statOf(child);
      if (stat === undefined || isZombie(stat)) continue;
      rows.push({ pid: child, parent: pid, group: stat.group, start: stat.start, cookies: [] });
      next.push(child);
    }
  }
  return rows;
}

/** Each thread has the children that it has started. The directory has a link more for each of them than for two. */
function threadsOf(pid: number): number[] {
  try {
    const path = `/proc/${pid}/task`;
    return statSync(path).nlink === 3 ? [pid] : readdirSync(path).map(Number);
  } catch {
    return [];
  }
}

function childrenOf(pid: number, thread: number): number[] | undefined {
  let file: number | undefined;
  try {
    file = openSync(`/proc/${pid}/task/${thread}/children`, 'r');
    let text = '';
    for (let length = CHUNK.length; length === CHUNK.length; ) {
      length = readSync(file, CHUNK);
      text += CHUNK.toString('latin1', 0, length);
    }
    return text.split(' ').filter(Boolean).map(Number);
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
