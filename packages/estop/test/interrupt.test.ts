/** The command, interrupted at every stage of a run: it ends soon, its log is whole, and nothing of the run is left. */
import { describe, expect, test } from 'vitest';
import type { LogLine } from '../src/probe/events.ts';
import { type Ended, withCli } from './broken/cli.ts';
import { server } from './broken/run.ts';

const has = (event: LogLine['event']) => (lines: readonly LogLine[]) => lines.some((line) => line.event === event);
const silent = [process.execPath, '-e', 'setInterval(() => {}, 1000)'];
// Nothing runs out by itself: what ends the run is the signal.
const endless = ['--timeout', '600000', '--window', '600000', '--repeat', '2'];

const overHttp = ['--url', 'http://127.0.0.1:{{port}}/mcp'];

const STAGES: [stage: string, command: string[], options: string[], reached: (lines: readonly LogLine[]) => boolean][] =
  [
    ['before it is connected', silent, endless, has('subject_started')],
    ['before it listens', [...silent, '{{port}}'], [...endless, ...overHttp], has('subject_started')],
    ['while attempts overlap', server('deaf'), endless, has('handler_signal')],
    [
      'while attempts overlap, over HTTP',
      server('http', 'v1-stateful', 'sound', '{{port}}'),
      [...endless, ...overHttp, '--era', 'legacy'],
      has('handler_signal'),
    ],
    [
      'in the window',
      server('sound'),
      endless,
      (lines) => lines.some((line) => isGate(line) && isWatched(lines, line)),
    ],
    [
      'in an attempt that is made again alone',
      server('one-at-a-time'),
      ['--timeout', '700', '--window', '2000', '--era', 'legacy'],
      (lines) => lines.some((line) => line.event === 'attempt_started' && line.alone),
    ],
  ];

describe.concurrent('SIGINT', () => {
  test.for(STAGES)('%s', async ([, command, options, reached], { expect }) => {
    await withCli(options, command, async ({ child, ended, lines, until }) => {
      await until(reached);
      child.kill('SIGINT');
      const { code, stdout, stderr, left } = await ended;
      expect(code).toBe(130);
      expect(stderr).toMatch(/estop probe: interrupted by SIGINT; the log so far is .+\n$/);
      expect(stdout).toBe('');
      expect(left).toEqual([]);
      expect(lines().filter(({ event }) => event === 'run_interrupted')).toHaveLength(1);
    });
  });

  test('twice in a row leaves at once, and nothing behind', async () => {
    // It spins, so that the cleaning up takes a while.
    await withCli(endless, server('spins'), async ({ child, ended, lines, until }) => {
      await until(has('handler_acted'));
      child.kill('SIGINT');
      await until(has('run_interrupted'));
      child.kill('SIGINT');
      const { code, stderr, left } = await ended;
      expect(code).toBe(130);
      expect(stderr).not.toContain('interrupted by SIGINT; the log so far');
      expect(left).toEqual([]);
      expect(lines().at(-1)?.event).not.toBe('run_ended');
    });
  });
});

test('a command outside the group of its server is not left behind either', async () => {
  const options = [...endless, '--tool', 'run', '--args', '{"command":"{{work.command}}"}', '--case', 'held'];
  await withCli(options, server('run-command', 'kills-shell'), async ({ child, ended, until }) => {
    await until((lines) => lines.some((line) => line.event === 'phase_established' && line.case === 'held'));
    child.kill('SIGINT');
    const { code, left } = await ended;
    expect(code).toBe(130);
    expect(left).toEqual([]);
  });
});

test('SIGTERM ends it as well, with the code of its own', async () => {
  const { code, stderr, left }: Ended = await withCli(endless, server('deaf'), async ({ child, ended, until }) => {
    await until(has('handler_signal'));
    child.kill('SIGTERM');
    return ended;
  });
  expect(code).toBe(143);
  expect(stderr).toMatch(/estop probe: interrupted by SIGTERM; the log so far is .+\n$/);
  expect(left).toEqual([]);
});

test('while a server that spins is asked whether it answers, it is ended all the same', async () => {
  const options = ['--timeout', '600000', '--window', '0', '--repeat', '1', '--case', 'during_work', '--era', 'legacy'];
  await withCli(options, server('spins'), async ({ child, ended, until }) => {
    await until((lines) => lines.some((line) => line.event === 'worker_state' && isWatched(lines, line)));
    child.kill('SIGINT');
    const { code, left } = await ended;
    expect(code).toBe(130);
    expect(left).toEqual([]);
  });
});

const isGate = (line: LogLine): boolean => line.event === 'gate_opened' && line.gate === 'release_response';

/** Its case is one that was cancelled: the gates are opened after that, and what follows is the window. */
const isWatched = (lines: readonly LogLine[], { testId }: LogLine): boolean =>
  lines.some((line) => line.testId === testId && line.event === 'worker_stopped');
