/** The notes under a result: what a stop rests on, by what kind of work came. */
import { expect, test } from 'vitest';
import type { AttemptLine } from '../src/probe/events.ts';
import { notesOn } from '../src/probe/notes.ts';
import { Attempt } from './attempt-lines.ts';

const NOTHING_ELSE = 'It saw nothing of other work, and nothing after the window.';
const begun = () => new Attempt('during_work').sent();
const notes = (lines: readonly AttemptLine[]): string[] =>
  notesOn([], { log: { lines }, timeoutMs: 1_000, blackBox: false });

test('without commands, the witness saw connections', () => {
  const expected = [`The witness saw the connection that the work came by. ${NOTHING_ELSE}`];
  expect(notes(begun().lines)).toEqual(expected);
  expect(notes(begun().started().lines)).toEqual(expected);
});

test('of commands it saw their processes too, by pid and start time', () => {
  const of = 'the control connection of each command with its process, by pid and start time';
  expect(notes(begun().command().lines)).toEqual([`The witness saw ${of}. ${NOTHING_ELSE}`]);
  expect(notes(begun().started(1).command(2).lines)).toEqual([
    `The witness saw the connection that the work came by, and ${of}. ${NOTHING_ELSE}`,
  ]);
});

test('where there is no start time, by pid alone', () => {
  const lines = begun().add('witness', { event: 'worker_started', job: 1, by: 'command', pid: 71 }).lines;
  expect(notes(lines)).toEqual([
    `The witness saw the control connection of each command with its process, by pid alone. ${NOTHING_ELSE}`,
  ]);
});

test('a process that could not be checked is a limit of its own, with the reason', () => {
  expect(notes(begun().command(1).command(2, 'no such pid here').lines)).toEqual([
    'The witness saw the control connection of each command with its process, by pid and start time, ' +
      `and control connections of commands whose process it could not check. ${NOTHING_ELSE}`,
    'Of 1 of 2 commands no stop can be confirmed: no such pid here. ' +
      'A command that runs in a container has another pid there than here.',
  ]);
});
