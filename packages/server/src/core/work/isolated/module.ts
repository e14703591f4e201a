/**
 * A module as an author names it, checked where it is named, for a thread or a process that will import it.
 *
 * Does not promise that it can be imported: a package may not be there, and a file may be no module.
 */
import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { show } from '../../checks.ts';

/**
 * What `import()` takes there. A relative path would be relative to estop, which nobody means.
 *
 * @param where names the place for errors: `isolated()`
 * @throws TypeError for a module that is named in a way that cannot be found, or is no file that exists
 */
export function importable(module: string | URL, where: string): string {
  if (typeof module !== 'string' && !(module instanceof URL)) {
    throw new TypeError(
      `estop: ${where}: module must be a URL, an absolute path or a package's name, got ${show(module)}`,
    );
  }
  const text = String(module);
  const url =
    module instanceof URL || /^[a-z][a-z+.-]+:/i.test(text)
      ? text
      : isAbsolute(text)
        ? pathToFileURL(text).href
        : undefined;
  if (url === undefined) {
    if (text.startsWith('.') || text === '') {
      throw new TypeError(
        `estop: ${where}: module ${JSON.stringify(text)} is relative; write new URL(${JSON.stringify(text)}, import.meta.url)`,
      );
    }
    return text;
  }
  if (url.startsWith('file:') && !existsSync(fileURLToPath(url))) {
    throw new TypeError(`estop: ${where}: there is no module at ${fileURLToPath(url)}`);
  }
  return url;
}
