/** What the tests of broken subjects share: a quick run of the probe, and what came out of it. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Cell, type EraResult, type ProbeParts, type ProbeResult, probeServer } from 'estop/probe';
import { expect, vi } from 'vitest';
import type { CaseName } from '../../src/probe/cases/table.ts';
import type { AttemptLine, Era, LogLine } from '../../src/probe/events.ts';
import { judge } from '../../src/probe/judge/judge.ts';
import { cellsOf } from '../../src/probe/judge/verdict.ts';
import type { ProbeOptions } from '../../src/probe/options.ts';
import type { ObservationName } from '../../src/probe/result.ts';

// A wait in a run is bounded by the run; this is for a machine that has a lot to do beside it.
vi.setConfig({ testTimeout: 90_000 });

export const ERAS: readonly Era[] = ['legacy', 'modern'];

/** For a run in which nothing has to be waited for until it is not there: generous, and costs no time. */
export const AMPLE = { timeoutMs: 10_000, windowMs: 400, repeats: 1 };
/** For a run in which such a wait has to run out. */
export const SHORT = { timeoutMs: 2_000, windowMs: 400, repeats: 1 };

export interface Run {
  readonly result: ProbeResult;
  readonly lines: readonly LogLine[];
}

/** A command that starts a server of `test/broken/servers`. */
export function server(name: string, ...args: readonly string[]): string[] {
  return [process.execPath, fileURLToPath(new URL(`servers/${name}.mjs`, import.meta.url)), ...args];
}

/** The options for a server of `http.mjs` that has this door and this handler. */
export function httpServer(door: string, handler = 'sound'): Pick<ProbeOptions, 'command' | 'url'> {
  return { command: server('http', door, handler, '{{port}}'), url: 'http://127.0.0.1:{{port}}/mcp' };
}

/** Part of a run: a witness of `test/broken/witnesses`. */
export function witness(name: string): ProbeParts {
  return { witness: new URL(`witnesses/${name}.mjs`, import.meta.url) };
}

/** Part of a run: a client of `test/broken/clients`. */
export async function client(name: string): Promise<ProbeParts> {
  const { connect } = await import(new URL(`clients/${name}.mjs`, import.meta.url).href);
  return { connect };
}

/** Runs the probe in a directory that is gone afterwards. Whatever came out has to come out of the log alone, too. */
export async function probe(options: Omit<ProbeOptions, 'out'>, parts: ProbeParts = {}): Promise<Run> {
  const out = mkdtempSync(join(tmpdir(), 'estop-broken-'));
  try {
    const result = await probeServer({ ...options, out }, parts);
    const lines = readLog(result.log);
    for (const era of result.eras) {
      expect(judgedAgain(era, lines, options.tool !== undefined)).toEqual(era.cells.filter(wasRun));
    }
    return { result, lines };
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

/** Of a run that is over: every line has to be whole, the last one too. */
export function readLog(file: string): LogLine[] {
  const { lines, rest } = linesIn(file);
  if (rest !== '') throw new Error(`the last line of ${file} is not whole`);
  return lines;
}

/** Of a run that is still writing: what it has of the last line is left out. */
export function readLiveLog(file: string): LogLine[] {
  return linesIn(file).lines;
}

function linesIn(file: string): { lines: LogLine[]; rest: string } {
  const lines = readFileSync(file, 'utf8').split('\n');
  const rest = lines.pop() ?? '';
  return { lines: lines.map((line) => JSON.parse(line)), rest };
}

export function linesOf(lines: readonly LogLine[], testId: string): AttemptLine[] {
  return lines.filter((line) => line.testId === testId) as AttemptLine[];
}

export function cell({ result }: Run, name: CaseName, era: Era): Cell {
  const found = result.eras.find((one) => one.era === era)?.cells.find((one) => one.case === name);
  if (!found) throw new Error(`no cell ${name} in ${era}: ${result.notes.join(' ')}`);
  return found;
}

/** The names of all observations in a cell, each once. */
export function observations({ attempts }: Cell): ObservationName[] {
  return [...new Set(attempts.flatMap((attempt) => attempt.observations.map(({ name }) => name)))];
}

const wasRun = ({ attempts, invalidPhases }: Cell): boolean => attempts.length > 0 || invalidPhases > 0;

function judgedAgain({ cells }: EraResult, lines: readonly LogLine[], blackBox: boolean): Cell[] {
  return cellsOf(
    cells.filter(wasRun).map((one) => ({
      case: one.case,
      attempts: one.attempts.map(({ testId }) => judge(linesOf(lines, testId), { blackBox })),
      invalidPhases: one.invalidPhases,
    })),
  );
}
