/**
 * A command as an author gives it: checked where it is given, with an error that names the call.
 *
 * The shell that becomes the command would only say so on stderr, and exit with 127. Does not promise that it starts:
 * a file may go, or be no program, between the check and the start.
 */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { show } from '../../checks.ts';

export interface Place {
  readonly cwd?: string | URL | undefined;
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

/** Where a shell looks when nothing says so. */
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

/**
 * @param what names the call: `tool "scrape"`
 * @throws TypeError for what is no command, no list of arguments or no directory; Error with `code` `ENOENT` for a
 *   command that is not there, `EACCES` for one that cannot be run
 */
export function checkCommand(what: string, command: unknown, args: unknown, { cwd, env }: Place): void {
  const where = `estop: ${what}: spawn()`;
  if (!isText(command) || command === '') throw new TypeError(`${where} needs a command, got ${show(command)}`);
  if (!Array.isArray(args)) throw new TypeError(`${where}: the arguments must be an array, got ${show(args)}`);
  const bad = args.find((arg) => !isText(arg));
  if (bad !== undefined || args.includes(undefined)) {
    throw new TypeError(`${where}: each argument must be a string without NUL, got ${show(bad)}`);
  }
  const directory = cwd instanceof URL ? fileURLToPath(cwd) : (cwd ?? process.cwd());
  if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
    throw new TypeError(`${where}: cwd is no directory: ${show(directory)}`);
  }
  // On Windows a name may have one of many endings: there the system says.
  if (process.platform === 'win32') return;
  const path = (env ?? process.env)['PATH'] ?? DEFAULT_PATH;
  const files = command.includes('/')
    ? [resolve(directory, command)]
    : path.split(delimiter).map((folder) => join(resolve(directory, folder), command));
  const found = files.map(stateOf);
  if (found.includes('runnable')) return;
  if (found.includes('there')) {
    throw withCode(`${where}: ${show(command)} is there, and is no program that may be run`, 'EACCES');
  }
  throw withCode(
    `${where}: there is no command ${show(command)}${command.includes('/') ? '' : ` in PATH (${path})`}`,
    'ENOENT',
  );
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0');
}

function stateOf(file: string): 'runnable' | 'there' | 'missing' {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return 'missing';
  if (!found.isFile()) return 'there';
  try {
    accessSync(file, constants.X_OK);
    return 'runnable';
  } catch {
    return 'there';
  }
}

function withCode(message: string, code: string): Error {
  return Object.assign(new Error(message), { code });
}
