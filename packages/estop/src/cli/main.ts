/**
 * The command `estop`: reads the command line, runs one command, sets the exit code.
 *
 * Promises one sentence on stderr and exit code 3 for every mistake in usage, and that everything after `--` reaches
 * the server's command verbatim. Does not cut stdout off: it sets `process.exitCode` and lets the process end by
 * itself.
 */
import { Command, CommanderError } from 'commander';
import { estopVersion } from '../probe/version.ts';
import { EXIT } from '../report/exit-code.ts';
import { addCases } from './cases.ts';
import { addProbe } from './probe.ts';
import { UsageError } from './usage.ts';

const EXAMPLES = `
Examples:
  estop probe server -- node server.js
  estop probe server --era modern --case during_work -- node server.js --stdio
  estop cases

Run "estop probe server --help" for its options and its exit codes.`;

process.on('uncaughtException', (error) => {
  // Left to itself Node would exit with 1, and 1 says that something leaked.
  process.stderr.write(`estop: ${error.stack ?? error.message}\n`);
  process.exit(EXIT.failure);
});
quietWhenNobodyReads(process.stdout);
quietWhenNobodyReads(process.stderr);
process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  const cut = argv.indexOf('--');
  const own = cut < 0 ? argv : argv.slice(0, cut);
  const subject = cut < 0 ? [] : argv.slice(cut + 1);
  let code: number = EXIT.asExpected;
  const estop = program();
  addProbe(estop, subject, (value) => {
    code = value;
  });
  addCases(estop);
  try {
    await estop.parseAsync(own, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof UsageError) process.stderr.write(`${error.message}\n`);
    // Commander has printed its own already; asking for help is no mistake.
    else if (!(error instanceof CommanderError)) throw error;
    else if (error.exitCode === 0) return EXIT.asExpected;
    return EXIT.failure;
  }
}

/** Made before its commands, which take over how it ends and how it complains. */
function program(): Command {
  return new Command('estop')
    .description('estop stops MCP work, and proves that it stopped.')
    .version(estopVersion(), '-V, --version', 'print the version')
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'estop: ')) })
    .addHelpText('after', EXAMPLES);
}

/** `estop cases | head` ends quietly when `head` has seen enough; so does a run whose terminal was closed. */
function quietWhenNobodyReads(stream: NodeJS.WriteStream): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
  });
}
