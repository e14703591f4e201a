/** The version of this package, as its `package.json` has it. */
import { readFileSync } from 'node:fs';

export function estopVersion(): string {
  const file = new URL('../../package.json', import.meta.url);
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
  return version;
}
