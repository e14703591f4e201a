/**
 * A run of the probe against one server: its eras, each in a process of its own, and what they come to.
 *
 * Leaves nothing running behind, however it ends, and a log that is readable up to the last line. Does not reach what a
 * server has started outside its own process group.
 */
import { setMaxListeners } from 'node:events';
import { CASES, type CaseName } from './cases/table.ts';
import { startControlPlane } from './control-plane.ts';
import { runEra } from './era.ts';
import type { Era } from './events.ts';
import type { Harness } from './harness.ts';
import { unknownsOf } from './judge/unknowns.ts';
import { openLog } from './log.ts';
import { notesOn } from './notes.ts';
import { checkOptions, DEFAULTS, type ProbeOptions } from './options.ts';
import { type EraResult, ProbeFailure, type ProbeResult } from './result.ts';
import { makeRunDir } from './run-dir.ts';
import type { ConnectClient } from './subject/client.ts';
import { connectSdkV1 } from './subject/sdk-v1.ts';
import { connectSdkV2 } from './subject/sdk-v2.ts';
import { openSession, type Session } from './subject/session.ts';
import { estopVersion } from './version.ts';
import { startWitness } from './witness/witness.ts';

/** What else a run can be made with; for clients other than the official one, and for witnesses that lie. */
export interface ProbeParts {
  readonly connect?: ConnectClient;
  readonly witness?: URL;
}

/**
 * @throws TypeError for bad options, ProbeFailure when the run could not be made, `options.signal.reason` when it was
 *   interrupted; in each case everything that it started has ended
 */
export async function probeServer(options: ProbeOptions, parts: ProbeParts = {}): Promise<ProbeResult> {
  checkOptions(options);
  const startedAt = performance.now();
  const { tool = DEFAULTS.tool, repeats = DEFAULTS.repeats, command, url } = options;
  const { timeoutMs = DEFAULTS.timeoutMs, windowMs = DEFAULTS.windowMs, args = {}, client = DEFAULTS.client } = options;
  options.signal?.throwIfAborted();
  const { signal, unlink } = follow(options.signal);

  const dir = makeRunDir(options.out ?? DEFAULTS.out);
  const log = openLog(dir.log);
  const ends: (() => Promise<void> | void)[] = [() => log.close()];
  try {
    const { signal: _, onProgress: __, ...asked } = options;
    const { version: node, platform } = process;
    log.write('harness', { event: 'run_started', estop: estopVersion(), node, platform, command, options: asked });
    options.onProgress?.({ type: 'started', log: dir.log });

    const control = await startControlPlane(log);
    ends.push(() => control.close());
    const witness = await startWitness({ log, markers: dir.markers, ...(parts.witness && { module: parts.witness }) });
    ends.push(() => witness.close());

    const harness: Harness = {
      log,
      control,
      witness,
      connect: parts.connect ?? CLIENTS[client],
      command,
      url,
      tool,
      blackBox: tool !== DEFAULTS.tool,
      args,
      cases: casesOf(options.cases),
      repeats,
      timeoutMs,
      windowMs,
      signal,
      tell: (progress) => options.onProgress?.(progress),
    };
    const opened = await openEras(harness, erasOf(options.era, client), ends);
    const eras = await runEras(harness, opened.sessions);
    log.write('harness', { event: 'run_ended' });
    return {
      schema: 1,
      estop: estopVersion(),
      command,
      ...(url !== undefined && { url }),
      tool,
      windowMs,
      timeoutMs,
      repeats,
      eras,
      unknowns: eras.flatMap((era) => unknownsOf(era, windowMs)),
      notes: [...opened.notes, ...notesOn(eras, harness)],
      durationMs: Math.round(performance.now() - startedAt),
      log: dir.log,
    };
  } catch (error) {
    if (!signal.aborted) throw error;
    log.write('harness', {
      event: 'run_interrupted',
      reason: String((signal.reason as Error)?.message ?? signal.reason),
    });
    throw signal.reason;
  } finally {
    for (const end of ends.reverse()) await end();
    unlink();
  }
}

const CLIENTS: Readonly<Record<'v1' | 'v2', ConnectClient>> = { v1: connectSdkV1, v2: connectSdkV2 };

/** A signal of the run's own: many wait on it, which is no leak, and none of them touches the caller's. */
function follow(outer: AbortSignal | undefined): { signal: AbortSignal; unlink(): void } {
  const own = new AbortController();
  const abort = (): void => own.abort(outer?.reason);
  setMaxListeners(0, own.signal);
  outer?.addEventListener('abort', abort);
  return { signal: own.signal, unlink: () => outer?.removeEventListener('abort', abort) };
}

/** Nothing means anything without a baseline, and a stop in `during_work` nothing without its control. */
function casesOf(wanted: readonly CaseName[] = CASES): CaseName[] {
  const needed = (name: CaseName): boolean =>
    name === 'baseline' || wanted.includes(name) || (name === 'held' && wanted.includes('during_work'));
  return CASES.filter(needed);
}

interface Opened {
  readonly sessions: readonly Session[];
  readonly notes: readonly string[];
}

/** The eras to try: that which was asked for, or all that the client speaks. */
function erasOf(era: 'auto' | Era = 'auto', client: 'v1' | 'v2'): readonly Era[] {
  if (era !== 'auto') return [era];
  return client === 'v1' ? ['legacy'] : ['legacy', 'modern'];
}

/** Each era that was asked for, or that the subject turns out to offer. When there is none, what went wrong in all of them is one failure. */
async function openEras(harness: Harness, eras: readonly Era[], ends: (() => Promise<void> | void)[]): Promise<Opened> {
  const openings = await Promise.allSettled(eras.map((era) => openSession(harness, era)));
  const sessions = openings.flatMap((opening) => (opening.status === 'fulfilled' ? [opening.value] : []));
  for (const session of sessions) ends.push(() => session.close());
  harness.signal.throwIfAborted();
  const failures = openings.flatMap((opening) => (opening.status === 'rejected' ? [opening.reason as unknown] : []));
  if (sessions.length === 0) throw oneFailure(failures);
  for (const [n, era] of eras.entries()) {
    harness.tell({ type: 'era', era, offered: openings[n]?.status === 'fulfilled' });
  }
  const notes = failures.map((failure) => {
    if (failure instanceof ProbeFailure) return `Not probed: ${failure.message.replace(/^estop probe: /, '')}.`;
    throw failure;
  });
  return { sessions, notes };
}

/** What the eras have in common is said once, and then no era is to blame for it. */
function oneFailure(failures: readonly unknown[]): unknown {
  const foreseen = failures.filter((failure) => failure instanceof ProbeFailure);
  const [first] = foreseen;
  if (first === undefined || foreseen.length < failures.length || failures.length === 1) {
    return failures.find((failure) => !(failure instanceof ProbeFailure)) ?? first;
  }
  const bare = new Set(foreseen.map(({ message }) => message.replace(/ in the (legacy|modern) era/, '')));
  const [same = ''] = bare;
  const each = foreseen.map(({ message }) => message.replace(/^estop probe: /, '')).join('; ');
  return new ProbeFailure(bare.size === 1 ? same : `estop probe: ${each}`, first.log);
}

/** Beside each other; all are waited for, and judged together at the end: what is late has had its time by then. */
async function runEras(harness: Harness, sessions: readonly Session[]): Promise<EraResult[]> {
  const runs = await Promise.allSettled(sessions.map((session) => runEra(harness, session)));
  const results = runs.map((run) => {
    if (run.status === 'rejected') throw run.reason;
    return run.value;
  });
  return results.map((judgeEra) => judgeEra());
}
