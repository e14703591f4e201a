/**
 * What outlives this process when it is killed, and takes all with it that calls have started: a small shell that waits
 * for the end of a pipe (`sh/reaper.sh`).
 *
 * The pipe ends with this process however it ends, SIGKILL included. Whatever is started writes itself into it before it
 * becomes its command (`sh/start.sh`), and holds it open until then: none is missed between its start and its
 * registration. Runs only while there is something to watch, and is started again when it was killed alone. Who kills it
 * and this process at once leaves orphans. Without `/proc` it knows groups only, by their numbers. There is none on
 * Windows, where children end with their parent.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { cgroupHome } from './cgroup.ts';
import { COOKIE_TOKEN, COOKIE_VARIABLE } from './cookie.ts';

const SCRIPT = fileURLToPath(new URL('../../../../sh/reaper.sh', import.meta.url));
/** ms that a reaper with nothing to watch stays: the next start often comes soon. */
const LINGER_MS = 1_000;
/** Reapers in a row that live for less than that, after which there is a pause: here none can live. */
const MOST_YOUNG = 3;

/** Groups that were started, and whose end has not been seen. */
const watched = new Set<string>();
let reaper: ChildProcess | undefined;
let leaving: NodeJS.Timeout | undefined;
let young = 0;

/**
 * What a start needs as its descriptor 3: the pipe; or nothing, where there can be no reaper. There is one from now until
 * nothing has been watched for a second.
 */
export function reaperPipe(): Writable | 'ignore' {
  // A start may fail, and then nobody watches.
  leaveLater();
  // It has been killed, and that was noticed by a write: its exit will be news of nobody.
  if (reaper?.stdin?.destroyed) reaper = undefined;
  reaper ??= begin();
  return reaper.stdin ?? 'ignore';
}

/** Must follow a start at once: it has registered itself, and this keeps the reaper. */
export function watch(group: string): void {
  watched.add(group);
}

/** All of the group has ended, or is given up. */
export function unwatch(group: string): void {
  if (!watched.delete(group)) return;
  tell(`del ${group}`);
  if (watched.size === 0) leaveLater();
}

function begin(): ChildProcess {
  const { [COOKIE_VARIABLE]: _, ...environment } = process.env;
  const started = spawn('/bin/sh', [SCRIPT, COOKIE_TOKEN, cgroupHome() ?? ''], {
    cwd: '/',
    // A session of its own: what is pressed in a terminal does not reach it.
    detached: true,
    env: environment,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  started.unref();
  // There is none when there are no descriptors left.
  const stdin = started.stdin as (Writable & { unref(): void }) | undefined;
  stdin?.unref();
  // It is gone, or could not be started: there will be another one.
  stdin?.on('error', () => {});
  const at = performance.now();
  started.once('error', () => gone(started, 0));
  started.once('exit', () => gone(started, performance.now() - at));
  for (const group of watched) stdin?.write(`add ${group}\n`);
  return started;
}

/** It was killed alone, or could not be started. */
function gone(ended: ChildProcess, livedMs: number): void {
  if (reaper !== ended) return;
  reaper = undefined;
  young = livedMs > LINGER_MS ? 0 : young + 1;
  if (young <= MOST_YOUNG) again();
  else setTimeout(again, LINGER_MS).unref();
}

function again(): void {
  if (watched.size > 0) reaper ??= begin();
}

function tell(line: string): void {
  reaper?.stdin?.write(`${line}\n`);
}

function leaveLater(): void {
  clearTimeout(leaving);
  leaving = setTimeout(dismiss, LINGER_MS).unref();
}

function dismiss(): void {
  if (watched.size > 0) return;
  const ending = reaper;
  reaper = undefined;
  // Without this word it would take the end of the pipe for that of the process, and kill what is started next.
  ending?.stdin?.end('end\n');
}
