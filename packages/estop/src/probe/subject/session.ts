/**
 * A session: one subject process, and one client connected to it in one era.
 *
 * Opening it either works in bounded time, or fails with one sentence that says what the server did instead.
 * Closing it leaves neither the process nor its group behind, also when this process exits first.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Era } from '../events.ts';
import type { Harness } from '../harness.ts';
import { ProbeFailure } from '../result.ts';
import { type Capture, createCapture } from './capture.ts';
import type { ProbeClient } from './client.ts';
import type { Exit } from './process.ts';
import { type Subject, startSubject } from './subject.ts';

export interface Session {
  readonly era: Era;
  readonly subject: Subject;
  readonly client: ProbeClient;
  readonly capture: Capture;
  /** Fires when the subject has ended, or the run is interrupted: nothing more is to be waited for. */
  readonly over: AbortSignal;
  /** Whether the server answers another request within the phase timeout; rejects when the run is interrupted. */
  answers(): Promise<boolean>;
  close(): Promise<void>;
}

/** A server may be a package that is started for the first time; so it has longer than a phase. */
const CONNECT_PHASES = 3;
/** Its pipes may have closed a moment before its exit is seen, and what it wrote may be read a moment after. */
const EXIT_NEWS_MS = 500;
const LAST_WORDS_MS = 2_000;

/** @throws ProbeFailure with the sentence; or the run's reason, when it was interrupted */
export async function openSession(harness: Harness, era: Era): Promise<Session> {
  const { log, command, url } = harness;
  const capture = createCapture(log);
  const subject = await startSubject({ command, url, env: harness.control.env, era, log, capture });
  const over = new AbortController();
  setMaxListeners(0, over.signal);
  const interrupt = (): void => over.abort(harness.signal.reason);
  void subject.exited.then(() => over.abort());
  harness.signal.addEventListener('abort', interrupt);
  killAtExit(subject);
  if (harness.signal.aborted) interrupt();

  const end = async (): Promise<void> => {
    await subject.stop();
    leaveAtExit(subject);
    harness.signal.removeEventListener('abort', interrupt);
  };
  try {
    const client = await connected(harness, subject, era, over.signal);
    const { revision, name, server } = client;
    log.write('harness', { event: 'negotiated', era, revision, transport: subject.transport, client: name, server });
    return {
      era,
      subject,
      client,
      capture,
      over: over.signal,
      async answers() {
        const ended = rejectionOf(over.signal);
        try {
          return await Promise.race([client.answers(harness.timeoutMs), ended.promise]);
        } catch (error) {
          if (harness.signal.aborted) throw error;
          return false;
        } finally {
          ended.forget();
        }
      },
      async close() {
        await client.close().catch(() => {});
        await end();
      },
    };
  } catch (error) {
    await end();
    if (error instanceof ProbeFailure) log.write('harness', { event: 'connect_failed', era, reason: error.message });
    throw error;
  }
}

async function connected(harness: Harness, subject: Subject, era: Era, over: AbortSignal): Promise<ProbeClient> {
  const timeoutMs = CONNECT_PHASES * harness.timeoutMs;
  const fail = (what: string): never => {
    throw new ProbeFailure(`estop probe: ${what}${saying(subject)}`, harness.log.file);
  };
  const ended = rejectionOf(over);
  let client: ProbeClient | undefined;
  try {
    if (!(await subject.listens(timeoutMs, over))) {
      return fail(`the server accepted no connection at ${subject.url} within ${timeoutMs} ms`);
    }
    const connecting = harness.connect(subject.endpoint, era, timeoutMs);
    client = await orClosed(connecting, ended.promise);
    const tools = await Promise.race([client.listTools(harness.timeoutMs), ended.promise]);
    if (tools.includes(harness.tool)) return client;
    return fail(`the server offers no tool "${harness.tool}" (${list(tools)})`);
  } catch (error) {
    await client?.close().catch(() => {});
    if (error instanceof ProbeFailure || harness.signal.aborted) throw error;
    const exit = await lastOf(subject);
    if (subject.garbage !== undefined) {
      const where = subject.transport === 'stdio' ? 'wrote to stdout' : 'answered with';
      return fail(`the server ${where} what is no MCP frame: ${JSON.stringify(subject.garbage)}`);
    }
    if (exit) return fail(`the server ended ${how(exit)} before it was connected`);
    if (!subject.spoke) return fail(`the server did not answer within ${timeoutMs} ms in the ${era} era`);
    const doing = client ? 'did not list its tools' : `could not be connected in the ${era} era`;
    return fail(`the server ${doing}: ${short(error)}`);
  } finally {
    ended.forget();
  }
}

/** The client, unless something ends the wait for it; one that is connected only then is closed. */
async function orClosed(connecting: Promise<ProbeClient>, ended: Promise<never>): Promise<ProbeClient> {
  try {
    return await Promise.race([connecting, ended]);
  } catch (error) {
    void connecting.then((late) => late.close()).catch(() => {});
    throw error;
  }
}

/** How it ended, if it has, with all that it wrote before. A server that was hung up on is right to exit. */
async function lastOf(subject: Subject): Promise<Exit | undefined> {
  if (subject.alive && subject.hungUpOn) return undefined;
  const soon = (ms: number): Promise<undefined> => delay(ms, undefined, { ref: false });
  const exit = await Promise.race([subject.exited, soon(EXIT_NEWS_MS)]);
  if (exit) await Promise.race([subject.drained, soon(LAST_WORDS_MS)]);
  return exit;
}

const atExit = new Set<Subject>();

/** One listener for all: however many there are, that is no leak. */
function killAtExit(subject: Subject): void {
  if (atExit.size === 0) process.on('exit', killAll);
  atExit.add(subject);
}

function leaveAtExit(subject: Subject): void {
  atExit.delete(subject);
  if (atExit.size === 0) process.off('exit', killAll);
}

function killAll(): void {
  for (const subject of atExit) subject.killNow();
}

/** A rejection when the signal fires, paired with the way to stop listening for it. */
function rejectionOf(signal: AbortSignal): { promise: Promise<never>; forget(): void } {
  let listener = (): void => {};
  const promise = new Promise<never>((_, reject) => {
    listener = () => reject(signal.reason);
    if (signal.aborted) listener();
    signal.addEventListener('abort', listener);
  });
  promise.catch(() => {});
  return { promise, forget: () => signal.removeEventListener('abort', listener) };
}

function how(exit: Exit): string {
  return exit.signal ? `with ${exit.signal}` : `with code ${exit.code}`;
}

function saying(subject: Subject): string {
  const last = subject.stderrTail.trim().split('\n').slice(-3).join(' | ').slice(-300);
  return last === '' ? '' : `; its stderr ends: ${last}`;
}

function list(tools: readonly string[]): string {
  if (tools.length === 0) return 'it offers none';
  const shown = tools.slice(0, 10).join(', ');
  return `it offers ${shown}${tools.length > 10 ? `, and ${tools.length - 10} more` : ''}`;
}

function short(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 200);
}
