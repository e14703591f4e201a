/**
 * The demo: probes five servers over stdio, side by side, and holds what it saw against what the project claims.
 *
 * Exits 0 exactly when every row is as claimed. Takes about ten seconds.
 */
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

interface Row {
  readonly claim: Claim;
  readonly result: ProbeResult;
  readonly hungCall: HungCall;
  /** What is not as claimed; empty when all is. */
  readonly differences: readonly string[];
}

const interrupt = new AbortController();
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
  console.error(`demo: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = interrupt.signal.aborted ? 130 : 3;
}
// Whoever is still watched when another server fails is ended with this process.
interrupt.abort();

async function probe(claim: Claim): Promise<Row> {
  const file = fileURLToPath(new URL(`./servers/${claim.server}.js`, import.meta.url));
  const [result, hung] = await Promise.all([
    probeServer({
      command: [process.execPath, file],
      era: 'legacy',
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
  const [heads = [], ...lines] = tableRows(
    CASES.map((name) => ({ head: name, wrap: true })),
    rows.map(({ result }): TableRow => CASES.map((name) => show(cellOf(result, name)))),
    { width: process.stdout.columns ?? WIDE, paintHead: pc.dim },
  );
  const out = ['', ...heads];
  for (const [n, { claim, result, hungCall }] of rows.entries()) {
    const boundary = cellOf(result, 'during_work')?.boundary;
    out.push('', pc.bold(claim.title), ...(lines[n] ?? []));
    out.push(pc.dim(`  during_work: the stop ${boundary}; a call that hangs is ${hungCall}`));
  }
  const wrong = rows.filter((row) => row.differences.length > 0);
  out.push('', sentence(rows, ms));
  for (const { claim, differences } of wrong) {
    for (const difference of differences) out.push(pc.red(`  not as claimed: ${claim.title}: ${difference}`));
  }
  out.push('', 'The logs, one line an event:');
  for (const { claim, result } of rows) out.push(`  ${claim.server.padEnd(10)} ${result.log}`);
  console.log(out.join('\n'));
}

function show(cell: Cell | undefined): { text: string; paint: (text: string) => string } {
  if (cell === undefined) return { text: '?', paint: pc.magenta };
  if (cell.verdict === 'as expected') return { text: `✓ ${cell.outcomes[0]}`, paint: pc.green };
  if (cell.verdict === 'leaked') return { text: '✗ leaked', paint: pc.red };
  return { text: `! ${cell.verdict}`, paint: pc.yellow };
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
