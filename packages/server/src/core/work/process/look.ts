/**
 * A look at the processes of the machine: one for all who ask, however many stops there are at once.
 *
 * Whoever asks gets a look that was begun after the question, so that nothing older than the question is missed. Never
 * rejects: a platform that shows nothing gives an empty snapshot, and that is for the asker to know (`canLook`).
 */
import { lookOnLinux } from './look-linux.ts';
import { lookByPs } from './look-ps.ts';
import { lookOnWindows } from './look-windows.ts';
import type { Snapshot } from './snapshot.ts';

const LOOKS: Partial<Record<NodeJS.Platform, () => Promise<Snapshot>>> = {
  linux: lookOnLinux,
  darwin: lookByPs,
  win32: lookOnWindows,
};

let current: Promise<Snapshot> | undefined;
let next: Promise<Snapshot> | undefined;

/** @returns `undefined` when it could not be looked: then nothing is known, and nothing may be claimed */
export function look(): Promise<Snapshot | undefined> {
  if (current === undefined) {
    current = begin();
    return heard(current);
  }
  next ??= current.then(later, later);
  return heard(next);
}

function later(): Promise<Snapshot> {
  next = undefined;
  current = begin();
  return current;
}

async function begin(): Promise<Snapshot> {
  const run = LOOKS[process.platform] ?? lookByPs;
  try {
    return await run();
  } finally {
    if (next === undefined) current = undefined;
  }
}

function heard(looking: Promise<Snapshot>): Promise<Snapshot | undefined> {
  return looking.catch(() => undefined);
}
