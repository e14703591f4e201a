/**
 * What a reader of a run's result has to know beside its cells: frequent invalid phases, and the limits of the witness.
 *
 * Promises to name what a stop of the work that came rests on, and what was not seen. Weighs nothing.
 */
import type { Harness } from './harness.ts';
import type { Log } from './log.ts';
import type { EraResult } from './result.ts';

type Asked = Pick<Harness, 'timeoutMs' | 'blackBox'> & { readonly log: Pick<Log, 'lines'> };

export function notesOn(eras: readonly EraResult[], { log, timeoutMs, blackBox }: Asked): string[] {
  const invalid = eras.flatMap(({ cells }) => cells).reduce((sum, cell) => sum + cell.invalidPhases, 0);
  return [
    ...(invalid > 0
      ? [
          `${invalid} attempts did not reach their phase; if that is frequent, try a longer --timeout than ${timeoutMs}.`,
        ]
      : []),
    ...(blackBox ? ['The tool is a black box: what its handler was told, and how it ended, is not visible.'] : []),
    ...limitsOfWitness(log),
  ];
}

function limitsOfWitness({ lines }: Pick<Log, 'lines'>): string[] {
  const starts = lines.filter((line) => line.event === 'worker_started');
  const commands = starts.filter((line) => line.by === 'command');
  const unchecked = commands.filter((line) => line.unchecked !== undefined);
  const dated = commands.every((line) => line.startTime !== undefined || line.unchecked !== undefined);
  const seen = [
    ...(starts.length > commands.length || commands.length === 0 ? ['the connection that the work came by'] : []),
    ...(commands.length > unchecked.length
      ? [`the control connection of each command with its process, by pid ${dated ? 'and start time' : 'alone'}`]
      : []),
    ...(unchecked.length > 0 ? ['control connections of commands whose process it could not check'] : []),
  ];
  return [
    `The witness saw ${seen.join(', and ')}. It saw nothing of other work, and nothing after the window.`,
    ...(unchecked.length > 0
      ? [
          `Of ${unchecked.length} of ${commands.length} commands no stop can be confirmed: ${unchecked[0]?.unchecked}. ` +
            'A command that runs in a container has another pid there than here.',
        ]
      : []),
  ];
}
