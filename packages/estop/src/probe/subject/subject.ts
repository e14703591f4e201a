/**
 * The subject: the server's process, and where a client reaches it so that every frame is seen on its way.
 *
 * Over stdio that is a transport on its pipes, over HTTP a proxy on loopback. Each frame is shown to the capture before
 * it goes on, so that the log has it before anything can follow from it. `stop` leaves nothing of the process's group
 * behind.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Era, Transport } from '../events.ts';
import type { Log } from '../log.ts';
import { fill } from '../placeholders.ts';
import type { Capture } from './capture.ts';
import { startProxy } from './http/proxy.ts';
import { type PipeTransport, pipeTransport } from './pipes.ts';
import { accepts, freePort } from './port.ts';
import { logLines, type SubjectProcess, startProcess } from './process.ts';

/** Where a client connects to: the pipes, or the URL of the proxy in front of the server. */
export type Endpoint = PipeTransport | URL;

export interface Subject
  extends Pick<SubjectProcess, 'pid' | 'alive' | 'exited' | 'drained' | 'stderrTail' | 'killNow'> {
  readonly transport: Transport;
  readonly endpoint: Endpoint;
  /** Over HTTP: where the server itself listens. */
  readonly url: string | undefined;
  /** The client closed the connection before the server did: an exit after that may be what a server owes to that. */
  readonly hungUpOn: boolean;
  /** It has written a frame, or answered a request over HTTP. */
  readonly spoke: boolean;
  /** The first thing in the place of a frame that was none, for an error's sentence. */
  readonly garbage: string | undefined;
  /** Whether it can be connected to within `timeoutMs`; rejects when `over` fires. Over stdio it can at once. */
  listens(timeoutMs: number, over: AbortSignal): Promise<boolean>;
  /** Ends it as its transport does, then SIGTERM, then SIGKILL, and in any case SIGKILL for what is left of the group. */
  stop(): Promise<void>;
}

export interface SubjectOptions {
  readonly command: readonly string[];
  /** Over HTTP: where the server listens; in it and in the command `{{port}}` is replaced by a port that is free. */
  readonly url?: string | undefined;
  /** Added to this process's environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly era: Era;
  readonly log: Log;
  readonly capture: Capture;
}

const STDIN_GRACE_MS = 1_000;
const POLL_MS = 20;

/** @throws ProbeFailure when there is no such command */
export function startSubject(options: SubjectOptions): Promise<Subject> {
  return options.url === undefined ? overPipes(options) : overHttp(options, options.url);
}

async function overPipes({ log, capture, ...options }: SubjectOptions): Promise<Subject> {
  const child = await startProcess({ log, ...options });
  const seen = { hungUpOn: false, spoke: false, garbage: undefined as string | undefined };
  const endpoint = pipeTransport(child, {
    onFrame(direction, frame) {
      seen.spoke ||= direction === 'to-client';
      capture.seen(direction, frame);
    },
    onHangUp() {
      seen.hungUpOn = true;
    },
    onGarbage(text) {
      seen.garbage ??= text;
      log.write('wire', { event: 'not_json', text });
    },
  });
  return subjectOf(child, seen, {
    transport: 'stdio',
    endpoint,
    url: undefined,
    listens: async () => true,
    stop: () => child.stop(STDIN_GRACE_MS),
  });
}

async function overHttp({ log, capture, command, ...options }: SubjectOptions, url: string): Promise<Subject> {
  const port = String(await freePort());
  const target = new URL(fill(url, { port }));
  const child = await startProcess({ ...options, log, command: fill(command, { port }) });
  const seen = { hungUpOn: false, spoke: false, garbage: undefined as string | undefined };
  logLines(child.stdout, (text) => log.write('harness', { event: 'subject_stdout', text }));
  const proxy = await startProxy(target, {
    capture,
    onAnswer() {
      seen.spoke = true;
    },
    onGarbage(text) {
      seen.garbage ??= text;
      log.write('wire', { event: 'not_json', text });
    },
  });
  return subjectOf(child, seen, {
    transport: 'http',
    endpoint: proxy.url,
    url: target.href,
    async listens(timeoutMs, over) {
      const end = performance.now() + timeoutMs;
      while (!(await accepts(target))) {
        if (performance.now() > end) return false;
        await delay(POLL_MS, undefined, { signal: over });
      }
      return true;
    },
    async stop() {
      await proxy.close();
      // Its stdin tells a server over HTTP nothing.
      await child.stop(0);
    },
  });
}

type Seen = Pick<Subject, 'hungUpOn' | 'spoke' | 'garbage'>;
type Own = Pick<Subject, 'transport' | 'endpoint' | 'url' | 'listens' | 'stop'>;

function subjectOf(child: SubjectProcess, seen: Seen, own: Own): Subject {
  const { pid, exited, drained, killNow } = child;
  return {
    ...own,
    pid,
    exited,
    drained,
    killNow,
    get alive() {
      return child.alive;
    },
    get stderrTail() {
      return child.stderrTail;
    },
    get hungUpOn() {
      return seen.hungUpOn;
    },
    get spoke() {
      return seen.spoke;
    },
    get garbage() {
      return seen.garbage;
    },
  };
}
