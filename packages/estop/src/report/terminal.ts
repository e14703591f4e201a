/**
 * A result for a person: a table per era, one sentence, what was found, what is unknown, and where the log is.
 *
 * Every verdict has a sign and a word, so that colour adds nothing but speed. Gives no cause: it prints what the
 * observations show, what they leave open and where they say to look next.
 */
import type { Colors } from 'picocolors/types.js';
import type { Cell, CellVerdict, HandlerEnd, Observation, ProbeResult } from '../probe/result.ts';
import { EXIT_MEANING, type ExitCode, exitCode } from './exit-code.ts';
import { list, outcomes, sentence } from './sentence.ts';
import { type Column, type Paint, type TableCell, type TableRow, tableRows, visible, wrap } from './table.ts';

export interface TerminalOptions {
  readonly colors: Colors;
  /** Columns to fill; default 100. */
  readonly width?: number;
}

export const ONLY_TEST_ENVIRONMENTS = 'Run the probe only against test environments, without real credentials.';

const COLUMNS: readonly Column[] = [
  { head: 'case' },
  { head: 'verdict' },
  { head: 'outcome', wrap: true },
  { head: 'stop last seen', wrap: true },
  { head: 'handler', wrap: true },
  { head: 'attempts', wrap: true },
];

const SIGN: Readonly<Record<CellVerdict, string>> = {
  'as expected': '✓',
  leaked: '✗',
  raced: '±',
  noisy: '~',
  unknown: '?',
  invalid: '·',
};

export function terminalReport(result: ProbeResult, { colors, width = 100 }: TerminalOptions): string {
  const paint = painter(colors);
  const part = (head: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : ['', colors.bold(head), ...lines];
  const lines = [
    ...heading(result, colors, width),
    ...eraTables(result, colors, width),
    '',
    ...wrap(sentence(result), width).map((line) => colors.bold(line)),
    ...part('Found', findings(result, paint, width)),
    ...part('Unknown', unknowns(result, paint, width)),
    ...part(
      'Notes',
      unique(result.notes).flatMap((note) => item('-', note, width)),
    ),
    '',
    `${colors.bold('Log')}  ${visible(result.log)}`,
    ...wrap(exitCodes(exitCode(result)), width).map(colors.dim),
    ...wrap(ONLY_TEST_ENVIRONMENTS, width).map(colors.dim),
  ];
  return `${lines.join('\n')}\n`;
}

/** The colour of a verdict. */
function painter(colors: Colors): Readonly<Record<CellVerdict, Paint>> {
  const bold =
    (color: Paint): Paint =>
    (text) =>
      colors.bold(color(text));
  return {
    'as expected': colors.green,
    leaked: bold(colors.red),
    raced: bold(colors.yellow),
    noisy: bold(colors.yellow),
    unknown: bold(colors.magenta),
    invalid: colors.magenta,
  };
}

function heading(result: ProbeResult, colors: Colors, width: number): string[] {
  const facts = [
    `tool ${result.tool}`,
    `${result.repeats} ${result.repeats === 1 ? 'attempt' : 'attempts'} a case`,
    `timeout ${result.timeoutMs} ms`,
    `window ${result.windowMs} ms`,
    `took ${(result.durationMs / 1000).toFixed(1)} s`,
    `estop ${result.estop}`,
  ];
  const url = result.url === undefined ? '' : `--url ${result.url} `;
  const command = wrap(`estop probe server ${url}-- ${result.command.join(' ')}`, width);
  return [...command.map(colors.bold), ...wrap(facts.join(', '), width).map(colors.dim)];
}

/** One table for all eras, so that their columns stand under each other, with each era's heading in between. */
function eraTables(result: ProbeResult, colors: Colors, width: number): string[] {
  const paint = painter(colors);
  const quiet = (text: string): TableCell => (text === '' || text === '-' ? { text: '-', paint: colors.dim } : text);
  const rows = result.eras.flatMap(({ cells }) =>
    cells.map(
      (cell): TableRow => [
        cell.case,
        { text: `${SIGN[cell.verdict]} ${cell.verdict}`, paint: paint[cell.verdict] },
        quiet(outcomes(cell)),
        quiet(cell.boundary),
        quiet(list(unique(cell.handlerEnds.map((end) => handlerWords(cell, end))))),
        attempts(cell, result.repeats),
      ],
    ),
  );
  const [heads = [], ...printed] = tableRows(COLUMNS, rows, { width, paintHead: colors.dim });
  return result.eras.flatMap((era) => [
    '',
    `${colors.bold(colors.cyan(visible(era.era)))} ${visible(`${era.revision} over ${era.transport}`)}`,
    ...wrap(`server ${era.server}, client ${era.client}`, width - 2).map((line) => `  ${colors.dim(line)}`),
    '',
    ...heads,
    ...printed.splice(0, era.cells.length).flat(),
  ]);
}

/** Where nobody cancelled before the handler's end, running on is simply returning. */
function handlerWords(cell: Cell, end: HandlerEnd): string {
  const undisturbed = cell.case === 'baseline' || cell.case === 'held' || cell.case === 'after_settle';
  if (end === 'ran on' && undisturbed) return 'returned';
  return end === 'ended-by-runtime' ? 'ended by runtime' : end;
}

function attempts(cell: Cell, repeats: number): string {
  const judged = `${cell.attempts.length}/${Math.max(repeats, cell.attempts.length)}`;
  return cell.invalidPhases === 0 ? judged : `${judged} + ${cell.invalidPhases} invalid`;
}

/** Each bad observation once, with the eras and the attempts that made it; the unknown ones have a list of their own. */
function findings(result: ProbeResult, paint: Readonly<Record<CellVerdict, Paint>>, width: number): string[] {
  const found = new Map<
    string,
    { cell: Cell; observation: Observation; eras: Set<string>; count: number; of: number }
  >();
  for (const { era, cells } of result.eras) {
    for (const cell of cells) {
      for (const observation of cell.attempts.flatMap((attempt) => attempt.observations)) {
        if (observation.grade !== 'leaked' && observation.grade !== 'noisy') continue;
        const key = `${cell.case} ${observation.name} ${observation.shows}`;
        const entry = found.get(key) ?? { cell, observation, eras: new Set(), count: 0, of: 0 };
        if (!entry.eras.has(era)) entry.of += cell.attempts.length;
        entry.eras.add(era);
        entry.count += 1;
        found.set(key, entry);
      }
    }
  }
  return [...found.values()].flatMap(({ cell, observation, eras, count, of }) => {
    const sign = paint[observation.grade](SIGN[observation.grade]);
    const where = `${cell.case} on ${list([...eras])}`;
    return [
      ...item(sign, `${where}: ${observation.name}, in ${count} of ${of} attempts`, width),
      ...item(' ', observation.shows, width),
      ...item(' ', `Open: ${observation.leavesOpen}`, width),
      ...item(' ', `Next: ${observation.lookNext}`, width),
    ];
  });
}

function unknowns(result: ProbeResult, paint: Readonly<Record<CellVerdict, Paint>>, width: number): string[] {
  const sentences = result.unknowns.map((unknown) => {
    const where = `${unknown.case} on ${unknown.era} ${unknown.revision} over ${unknown.transport}`;
    return `${where}: ${unknown.what} Last seen: ${unknown.boundaryLastSeen}. Watched for ${unknown.watchedMs} ms.`;
  });
  return unique(sentences).flatMap((text) => item(paint.unknown(SIGN.unknown), text, width));
}

function exitCodes(code: ExitCode): string {
  const others = Object.entries(EXIT_MEANING).filter(([value]) => Number(value) !== code);
  const rest = others.map(([value, meaning]) => `${value} ${meaning}`).join('; ');
  return `Exit code ${code}: ${EXIT_MEANING[code]}. (${rest}.)`;
}

/** A list item whose further lines hang under its text. */
function item(sign: string, text: string, width: number): string[] {
  return wrap(text, width - 4).map((line, i) => `  ${i === 0 ? sign : ' '} ${line}`);
}

function unique<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}
