/**
 * `estop probe server -- CMD...`: runs the probe against a server, over stdio or HTTP, and prints what came out.
 *
 * The result goes to stdout, everything else to stderr. Interrupted, it waits until the probe has stopped what it
 * started. Decides nothing itself: the verdicts are the probe's, the exit code is the report's.
 */
import type { Command } from 'commander';
import type { CaseName } from '../probe/cases/table.ts';
import type { Era } from '../probe/events.ts';
import { DEFAULTS, type ProbeOptions } from '../probe/options.ts';
import { ProbeFailure, type ProbeResult } from '../probe/result.ts';
import { EXIT, EXIT_MEANING, exitCode } from '../report/exit-code.ts';
import { jsonReport } from '../report/json.ts';
import { ONLY_TEST_ENVIRONMENTS, terminalReport } from '../report/terminal.ts';
import { listenForInterrupt } from './interrupt.ts';
import { liveLine, onlyWhatMustBeSaid, type ProgressView, plainLines } from './progress.ts';
import { colorsFor, widthOf } from './streams.ts';
import { clientChoice, eraChoice, jsonObject, oneMoreCase, UsageError, wholeNumber } from './usage.ts';

interface Flags {
  readonly url?: string;
  readonly client: 'v1' | 'v2';
  readonly era: 'auto' | Era;
  readonly tool?: string;
  readonly args?: Readonly<Record<string, unknown>>;
  readonly case?: readonly CaseName[];
  readonly repeat: number;
  readonly timeout: number;
  readonly window: number;
  readonly out: string;
  readonly json?: boolean;
}

const NO_COMMAND = "the server's command is missing; write it after --";
const NO_COMMAND_FOR_URL =
  '--url needs the command of the server after --: the probe starts it itself, so that it sees its process ' +
  'and can hand it the control plane';

const HELP = `
The server's command is everything after --, with its own options. Without --tool it is called with the kit's
"${DEFAULTS.tool}"; any other tool is a black box, and its work has to come to {{work.url}}, or be the command
{{work.command}}:

  estop probe server -- node server.js
  estop probe server --era modern --case during_work --repeat 10 -- node server.js --stdio
  estop probe server --tool fetch --args '{"url":"{{work.url}}"}' -- uvx mcp-server-fetch
  estop probe server --tool run --args '{"command":"{{work.command}}"}' -- node shell-server.js
  estop probe server --url 'http://127.0.0.1:{{port}}/mcp' -- node server.js {{port}}
  estop probe server --url 'http://127.0.0.1:{{port}}/mcp' --client v1 -- env PORT={{port}} node server.js
  estop probe server --json -- node server.js | jq '.eras[].cells[] | {case, verdict}'

Exit codes:
${Object.entries(EXIT_MEANING)
  .map(([code, meaning]) => `  ${code}  ${meaning}`)
  .join('\n')}

${ONLY_TEST_ENVIRONMENTS}`;

/** @param subject  everything after `--`; empty when there was none */
export function addProbe(estop: Command, subject: readonly string[], exit: (code: number) => void): void {
  estop
    .command('probe')
    .description('find out where a stop gets lost')
    .command('server')
    .description('cancel calls of a server at known phases, and see with a witness whether their work stops')
    .usage('[options] -- CMD...')
    .option('--url <URL>', 'where the server listens, for Streamable HTTP; {{port}} is replaced here and in CMD')
    .option('--client <SDK>', 'the client to call it with: v1 (legacy era only) or v2', clientChoice, DEFAULTS.client)
    .option('--era <ERA>', 'auto, legacy (to 2025-11-25) or modern (2026-07-28)', eraChoice, 'auto')
    .option('--tool <NAME>', `the tool to call (default: the kit's "${DEFAULTS.tool}")`)
    .option(
      '--args <JSON>',
      'arguments of --tool; {{work.url}}, {{work.command}}, {{test.id}} are replaced',
      jsonObject,
    )
    .option('--case <CASE>', 'run only this case; may be repeated (default: all, see estop cases)', oneMoreCase)
    .option('--repeat <N>', 'attempts a case', wholeNumber('--repeat', 1), DEFAULTS.repeats)
    .option(
      '--timeout <MS>',
      'to reach a phase, and to observe a stop',
      wholeNumber('--timeout', 1),
      DEFAULTS.timeoutMs,
    )
    .option('--window <MS>', 'how long an attempt is watched', wholeNumber('--window', 0), DEFAULTS.windowMs)
    .option('--out <DIR>', 'where each run gets a directory of its own', DEFAULTS.out)
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .allowExcessArguments()
    .action(async (flags: Flags, { args: [stray] }: Command) => {
      if (stray !== undefined) throw new UsageError(`write the server's command after --; "${stray}" stands before it`);
      exit(await probeServer(flags, subject));
    });
}

async function probeServer(flags: Flags, subject: readonly string[]): Promise<number> {
  if (!subject[0]) throw new UsageError(flags.url === undefined ? NO_COMMAND : NO_COMMAND_FOR_URL);
  if (flags.args && flags.tool === undefined) throw new UsageError('--args needs --tool');

  const view = progressView(flags.json === true);
  let log: string | undefined;
  const interrupt = listenForInterrupt(({ by }) =>
    view.say(`estop probe: ${by}: stopping what the run started; SIGINT again leaves at once`),
  );
  try {
    const result = await run({
      command: subject,
      ...(flags.url !== undefined && { url: flags.url }),
      client: flags.client,
      era: flags.era,
      ...(flags.tool !== undefined && { tool: flags.tool }),
      ...(flags.args && { args: flags.args }),
      ...(flags.case && { cases: flags.case }),
      repeats: flags.repeat,
      timeoutMs: flags.timeout,
      windowMs: flags.window,
      out: flags.out,
      signal: interrupt.signal,
      onProgress: (progress) => {
        if (progress.type === 'started') log = progress.log;
        view.update(progress);
      },
    });
    view.end();
    print(result, flags.json === true);
    return exitCode(result);
  } catch (error) {
    view.end();
    const interrupted = interrupt.reason();
    if (interrupted) {
      process.stderr.write(`estop probe: ${interrupted.message}; ${log ? `the log so far is ${log}` : 'no log yet'}\n`);
      return interrupted.exitCode;
    }
    process.stderr.write(`${failure(error, log)}\n`);
    return EXIT.failure;
  } finally {
    interrupt.release();
  }
}

/** Loaded only here, so that help and usage errors need no MCP client. */
async function run(options: ProbeOptions): Promise<ProbeResult> {
  const probe = await import('../probe/probe.ts');
  return probe.probeServer(options);
}

function progressView(json: boolean): ProgressView {
  if (process.stderr.isTTY) return liveLine(process.stderr, colorsFor(process.stderr));
  return json ? onlyWhatMustBeSaid(process.stderr) : plainLines(process.stderr);
}

function print(result: ProbeResult, json: boolean): void {
  const report = { colors: colorsFor(process.stdout), width: widthOf(process.stdout) };
  process.stdout.write(json ? jsonReport(result) : terminalReport(result, report));
}

/** One sentence for what was foreseen, and the stack of what was not. */
function failure(error: unknown, log: string | undefined): string {
  if (error instanceof ProbeFailure) {
    const where = error.log ?? log;
    return `${prefixed(error.message)}${where ? `\nestop probe: the log is ${where}` : ''}`;
  }
  if (error instanceof TypeError && error.message.startsWith('estop probe: ')) return error.message;
  return prefixed(error instanceof Error ? (error.stack ?? error.message) : String(error));
}

function prefixed(sentence: string): string {
  return sentence.startsWith('estop probe: ') ? sentence : `estop probe: ${sentence}`;
}
