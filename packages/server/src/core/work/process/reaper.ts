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

/** Groups that were started, and whose end has not been seen. */
const watched = new Set<string>();
let reaper: ChildProcess | undefined;
let leaving: NodeJS.Timeout | undefined;

/** The pipe that a start needs as its descriptor 3. There is a reaper from now until nothing is watched any more. */
export function reaperPipe(): Writable {
  clearTimeout(leaving);
  reaper ??= begin();
  return reaper.stdin as Writable;
}

/** Must follow a start at once: it has registered itself, and this keeps the reaper. */
export function watch(group: string): void {
  watched.add(group);
}

/** All of the group has ended, or is given up. */
export function unwatch(group: string): void {
  if (!watched.delete(group)) return;
  tell(`del ${group}`);
  if (watched.size > 0) return;
  clearTimeout(leaving);
  leaving = setTimeout(dismiss, LINGER_MS).unref();
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
  (started.stdin as unknown as { unref(): void }).unref();
  // It is gone, or could not be started: there will be another one.
  started.stdin.on('error', () => {});
  const at = performance.now();
  started.once('error', () => gone(started, 0));
  started.once('exit', () => gone(started, performance.now() - at));
  for (const group of watched) started.stdin.write(`add ${group}\n`);
  return started;
}

/** One that cannot live is not tried again before the next start needs it. */
function gone(ended: ChildProcess, livedMs: number): void {
  if (reaper !== ended) return;
  reaper = watched.size > 0 && livedMs > LINGER_MS ? begin() : undefined;
}

function tell(line: string): void {
  reaper?.stdin?.write(`${line}\n`);
}

function dismiss(): void {
  const ending = reaper;
  reaper = undefined;
  // Without this word it would take the end of the pipe for that of the process, and kill what is started next.
  ending?.stdin?.end('end\n');
}
