/**
 * The directory of one run: `<out>/<time>/` with its log and its markers, and a `latest` link beside it.
 *
 * Two runs never share one, also when they start in the same millisecond. The link is a convenience: where it cannot
 * be made (Windows without the right to, a real directory of that name) there is none.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';

export interface RunDir {
  /** Absolute. */
  readonly dir: string;
  readonly log: string;
  readonly markers: string;
}

export function makeRunDir(out: string): RunDir {
  const root = resolve(out);
  mkdirSync(root, { recursive: true });
  const ignore = join(root, '.gitignore');
  if (!existsSync(ignore)) writeFileSync(ignore, '*\n');
  const dir = makeUnique(join(root, new Date().toISOString().replaceAll(/[:.]/g, '-')));
  const markers = join(dir, 'markers');
  mkdirSync(markers);
  pointLatest(root, basename(dir));
  return { dir, log: join(dir, 'log.jsonl'), markers };
}

function makeUnique(wanted: string): string {
  for (let n = 1; ; n++) {
    const dir = n === 1 ? wanted : `${wanted}-${n}`;
    try {
      mkdirSync(dir);
      return dir;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** Made beside it and renamed over it: there is always a `latest`, and it always points to a whole run. */
function pointLatest(root: string, name: string): void {
  const temporary = join(root, `.latest-${randomBytes(6).toString('hex')}`);
  try {
    symlinkSync(name, temporary, 'dir');
    renameSync(temporary, join(root, 'latest'));
  } catch {
    rmSync(temporary, { force: true });
  }
}
