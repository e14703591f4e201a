/**
 * The command line of a worker: what stands in the place of `{{work.command}}`.
 *
 * It works in a shell, without a `PATH`, and split on spaces too unless one of its paths has a space or another
 * character that a shell would read. The quotes are those of POSIX shells; on Windows those of `cmd`, not verified.
 */
import { fileURLToPath } from 'node:url';

const PLAIN = process.platform === 'win32' ? /^[\w@+=:,./\\-]+$/ : /^[\w@%+=:,./-]+$/;

/** @param url  where its work comes to */
export function workCommand(url: string): string {
  return inShell([process.execPath, fileURLToPath(new URL('./command.js', import.meta.url)), url]);
}

export function inShell(words: readonly string[]): string {
  return words.map((word) => (PLAIN.test(word) ? word : quoted(word))).join(' ');
}

function quoted(word: string): string {
  return process.platform === 'win32' ? `"${word}"` : `'${word.replaceAll("'", "'\\''")}'`;
}
