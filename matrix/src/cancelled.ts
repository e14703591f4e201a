/** What becomes of a call that is cancelled, as the probe sees it. */
import { type Cell, probeServer } from 'estop/probe';
import { commandOf, type Mode, type Setup } from './setups.ts';

export interface ProbeRun {
  /** The directory for its logs. */
  readonly out: string;
  /** Interrupts it. */
  readonly signal: AbortSignal;
}

export interface Cancelled {
  /** The work of a call that was cancelled while it ran. */
  readonly cancel: string;
  /** Whether anything of a call crossed the wire after its cancel, in whatever phase that came. */
  readonly after: 'silence' | 'an answer';
  /** How many of the probe's cells are as expected. */
  readonly cells: string;
  /** Those that are not, in words. */
  readonly others: readonly string[];
  /** The evidence. */
  readonly log: string;
}

/** ms: the first is waited out only for a stop that does not come. */
const TIMES = { timeoutMs: 3_000, windowMs: 300 };

export async function cancelled(setup: Setup, mode: Mode, { out, signal }: ProbeRun): Promise<Cancelled> {
  const { eras, log } = await probeServer({
    command: commandOf(setup, mode, '{{port}}'),
    ...(setup.transport === 'http' && { url: 'http://127.0.0.1:{{port}}/mcp' }),
    era: setup.era,
    // Of v1 servers too: v1's own cancels what has settled already, whatever the server, and no cell of it can be quiet.
    client: 'v2',
    repeats: 1,
    ...TIMES,
    out,
    signal,
  });
  const cells = eras.flatMap((era) => era.cells);
  const others = cells.filter(({ verdict }) => verdict !== 'as expected');
  return {
    cancel: becameOf(cells.find((cell) => cell.case === 'during_work')),
    after: cells.some(isAnswered) ? 'an answer' : 'silence',
    cells: `${cells.length - others.length} of ${cells.length}`,
    others: others.map((cell) => `${cell.case} ${cell.verdict}: ${cell.outcomes.join(', ')}`),
    log,
  };
}

function becameOf(cell: Cell | undefined): string {
  if (cell?.verdict === 'as expected') return 'stops';
  return cell?.verdict === 'leaked' ? 'goes on' : (cell?.verdict ?? 'unknown');
}

function isAnswered({ attempts }: Cell): boolean {
  return attempts.some(({ observations }) => observations.some(({ name }) => name === 'answered-after-cancel'));
}
