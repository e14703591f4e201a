/**
 * The demo: probes seven servers over stdio, side by side, and holds what it saw against what the project claims.
 *
 * Exits 0 exactly when every row is as claimed. Takes about ten seconds.
 */
import { setMaxListeners } from 'node:events';
import { fileURLToPath } from 'node:url';
import { CASES, type Cell, type ProbeResult, probeServer } from 'estop/probe';
import { type TableRow, tableRows } from 'estop/report';
import pc from 'picocolors';
import { CLAIMS, type Claim, type HungCall } from './claims.ts';
import { cellOf, differences } from './differences.ts';
import { hungCall } from './hung-call.ts';
import { showProgress } from './progress.ts';

/** Columns, where stdout is no terminal. */
const WIDE = 100;

const COMMANDS =
  "Here the work is a command in a shell, and the tool is the server's own, as `estop probe --tool run` has it: what " +
  'its handler sees is not visible.';

type Paint = (text: string) => string;

interface Row {
  readonly claim: Claim;
  readonly result: ProbeResult;
  readonly hungCall: HungCall;
  /** What is not as claimed; empty when all is. */
  readonly differences: readonly string[];
}

const interrupt = new AbortController();
// Two of each server listen.
setMaxListeners(0, interrupt.signal);
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => interrupt.abort(new Error(`interrupted by ${signal}`)));
}

const startedAt = performance.now();
const progress = showProgress(CLAIMS.map((claim) => claim.title));
try {
  const rows = await Promise.all(CLAIMS.map(probe));
  progress.end();
  print(rows, performance.now() - startedAt);
  process.exitCode = rows.every((row) => row.differences.length === 0) ? 0 : 1;
} catch (error) {
  progress.end();
  const { aborted, reason } = interrupt.signal;
  const why: unknown = aborted ? reason : error;
  console.error(`demo: ${why instanceof Error ? why.message : String(why)}`);
  process.exitCode = aborted ? 130 : 3;
}
// Whoever is still watched when another server fails is ended with this process.
interrupt.abort();

async function probe(claim: Claim): Promise<Row> {
  const file = fileURLToPath(new URL(`./servers/${claim.server}.js`, import.meta.url));
  const [result, hung] = await Promise.all([
    probeServer({
      command: [process.execPath, file],
      era: 'legacy',
      // Each attempt of a command starts processes of its own.
      ...(claim.args && { tool: 'run', args: claim.args, repeats: 2 }),
      signal: interrupt.signal,
      onProgress(event) {
        if (event.type === 'attempt') progress.update(claim.title, event.done / event.planned);
      },
    }),
    hungCall(file, interrupt.signal),
  ]);
  return { claim, result, hungCall: hung, differences: differences(claim, result, hung) };
}

function print(rows: readonly Row[], ms: number): void {
  const width = process.stdout.columns ?? WIDE;
  const [heads = [], ...lines] = tableRows(
    CASES.map((name) => ({ head: name, wrap: true })),
    rows.map(({ result }): TableRow => CASES.map((name) => show(cellOf(result, name)))),
    { width, paintHead: pc.dim },
  );
  const out = ['', ...heads];
  for (const [n, { claim, result, hungCall }] of rows.entries()) {
    if (claim.args && !rows[n - 1]?.claim.args) out.push('', ...wrapped(COMMANDS, { width, indent: 0 }));
    const boundary = cellOf(result, 'during_work')?.boundary;
    const text = `during_work: the stop ${boundary}; a call that hangs is ${hungCall.replace('5 s', '5\u00a0s')}`;
    out.push('', pc.bold(claim.title), ...(lines[n] ?? []), ...wrapped(text, { width, paint: pc.dim }));
  }
  out.push('', ...wrapped(sentence(rows, ms), { width, indent: 0 }));
  for (const { claim, differences } of rows) {
    for (const difference of differences) {
      out.push(...wrapped(`not as claimed: ${claim.title}: ${difference}`, { width, paint: pc.red }));
    }
  }
  out.push('', 'The logs, one line an event:');
  for (const { claim, result } of rows) out.push(`  ${claim.server.padEnd(10)} ${result.log}`);
  console.log(out.join('\n'));
}

function wrapped(text: string, { paint, ...options }: { width: number; indent?: number; paint?: Paint }): string[] {
  const [, lines = []] = tableRows([{ head: '', wrap: true }], [[{ text, ...(paint && { paint }) }]], options);
  return lines;
}

function show(cell: Cell | undefined): { text: string; paint: Paint } {
  if (cell === undefined) return { text: '?', paint: pc.magenta };
  // A sign stays with the start of its word.
  const [outcome] = cell.outcomes;
  if (cell.verdict === 'as expected') return { text: `✓\u00a0${outcome}`, paint: pc.green };
  if (cell.verdict === 'leaked') return { text: '✗\u00a0leaked', paint: pc.red };
  if (cell.verdict === 'unknown') return { text: `?\u00a0${outcome}`, paint: pc.magenta };
  return { text: `!\u00a0${cell.verdict}`, paint: pc.yellow };
}

function sentence(rows: readonly Row[], ms: number): string {
  const leaks = rows.filter(({ result }) => cellOf(result, 'during_work')?.verdict === 'leaked').length;
  const stops = rows.filter(({ result }) => cellOf(result, 'during_work')?.verdict === 'as expected').length;
  const claimed = rows.every((row) => row.differences.length === 0) ? 'every row is as claimed' : 'NOT as claimed';
  return (
    `Cancelled while it ran, the work went on behind ${leaks} of ${rows.length} servers and was seen to stop behind ` +
    `${stops}; ${claimed} (${(ms / 1000).toFixed(1)} s).`
  );
}
