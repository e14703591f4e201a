/**
 * Linux: every process by its `/proc` files, read beside each other off the main thread.
 *
 * Reads the environment only of processes that are younger than this one: no other can have a mark of its. Sees nothing
 * of other PID namespaces above this one, and no environment of another user's process.
 */
import { close, open, read } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { COOKIE_VARIABLE, cookiesIn } from './cookie.ts';
import { type ProcessRow, Snapshot } from './snapshot.ts';
import { isZombie, parseStat, startOf } from './stat-linux.ts';

/** Most are shorter; one that is longer is read on. */
const CHUNK = 8_192;
/** Files open at once: there may be thousands of processes, and only so many descriptors. */
const LANES = 32;
const VARIABLE = `${COOKIE_VARIABLE}=`;

let ownStart: number | undefined;

/** @throws (rejects) where there is no `/proc` */
export async function lookOnLinux(): Promise<Snapshot> {
  ownStart ??= Number(startOf(process.pid));
  const pids = (await readdir('/proc')).filter((name) => name >= '1' && name < ':');
  const rows: ProcessRow[] = [];
  let isWhole = true;
  const lane = async (): Promise<void> => {
    for (let pid = pids.pop(); pid !== undefined; pid = pids.pop()) {
      const row = await rowOf(pid);
      if (row === 'ended') isWhole = false;
      else if (row !== 'zombie') rows.push(row);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return new Snapshot(rows, isWhole);
}

async function rowOf(pid: string): Promise<ProcessRow | 'zombie' | 'ended'> {
  const stat = parseStat((await readAll(`/proc/${pid}/stat`)) ?? '');
  if (stat === undefined) return 'ended';
  if (isZombie(stat)) return 'zombie';
  const cookies = Number(stat.start) < (ownStart ?? 0) ? [] : await cookiesOf(pid);
  return { pid: Number(pid), parent: stat.parent, group: stat.group, start: stat.start, cookies };
}

async function cookiesOf(pid: string): Promise<readonly string[]> {
  const environment = await readAll(`/proc/${pid}/environ`);
  const at = environment?.startsWith(VARIABLE) ? 0 : (environment?.indexOf(`\0${VARIABLE}`) ?? -1) + 1;
  if (environment === undefined || (at === 0 && !environment.startsWith(VARIABLE))) return [];
  const end = environment.indexOf('\0', at);
  return cookiesIn(environment.slice(at + VARIABLE.length, end < 0 ? undefined : end));
}

/** `undefined` for a process that has ended meanwhile, or is another user's. By callbacks: it is done for hundreds. */
function readAll(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    open(path, 'r', (error, fd) => {
      if (error) return resolve(undefined);
      const done = (text: string | undefined): void => close(fd, () => resolve(text));
      const chunks: Buffer[] = [];
      const more = (): void => {
        const chunk = Buffer.allocUnsafe(CHUNK);
        read(fd, chunk, 0, CHUNK, null, (failed, length) => {
          if (failed) return done(undefined);
          chunks.push(chunk.subarray(0, length));
          if (length < CHUNK) done(Buffer.concat(chunks).toString('latin1'));
          else more();
        });
      };
      more();
    });
  });
}
