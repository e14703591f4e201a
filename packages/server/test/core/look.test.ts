import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { COOKIE_VARIABLE } from '../../src/core/work/process/cookie.ts';
import { descendantsOf } from '../../src/core/work/process/descent-linux.ts';
import { look } from '../../src/core/work/process/look.ts';
import { lookOnLinux } from '../../src/core/work/process/look-linux.ts';
import { lookByPs } from '../../src/core/work/process/look-ps.ts';
import { type ProcessRow, Snapshot } from '../../src/core/work/process/snapshot.ts';
import { startOf } from '../../src/core/work/process/stat-linux.ts';

const row = (pid: number, parent: number, group = pid, cookies: readonly string[] = []): ProcessRow => ({
  pid,
  parent,
  group,
  start: `at ${pid}`,
  cookies,
});
const pids = (rows: readonly ProcessRow[]): number[] => rows.map(({ pid }) => pid).sort((a, b) => a - b);

describe('a family', () => {
  const strangers = [row(1, 0), row(500, 1), row(501, 500, 500), row(502, 1, 502, ['other.1'])];

  test('is what descends from its roots, through groups that were left', () => {
    const tree = [row(10, 1), row(11, 10, 10), row(12, 11, 12), row(13, 12, 13)];
    expect(pids(new Snapshot([...tree, ...strangers]).family([row(10, 1)], 'none'))).toEqual([10, 11, 12, 13]);
  });

  test('is what has the mark, whoever its parent is, with what that has started', () => {
    const marked = [row(20, 1, 20, ['outer.3', 'mine.1']), row(21, 20, 21), row(22, 1, 22, ['mine.2'])];
    expect(pids(new Snapshot([...marked, ...strangers]).family([], 'mine.1'))).toEqual([20, 21]);
  });

  test('is who is in a group with one of them, though it has lost its parent and its mark', () => {
    const group = [row(30, 1, 29, ['mine.1']), row(31, 1, 29), row(32, 31, 32)];
    expect(pids(new Snapshot([...group, ...strangers]).family([], 'mine.1'))).toEqual([30, 31, 32]);
  });

  test('never has this process in it, nor who is in its group', () => {
    const own = [row(process.pid, 40, 7, ['mine.1']), row(41, 1, 7), row(42, process.pid, 42)];
    const { pid } = process;
    expect(pids(new Snapshot(own).family([row(pid, 40, 7)], 'mine.1'))).toEqual([]);
    expect(pids(new Snapshot([...own, row(40, 1, 7)]).family([row(40, 1, 7)], 'none'))).not.toContain(pid);
  });

  test('ends where rows name each other as parents', () => {
    expect(pids(new Snapshot([row(50, 51), row(51, 50)]).family([row(50, 51)], 'none'))).toEqual([50, 51]);
  });

  test('has nobody who got the pid of one that has ended', () => {
    const before = { ...row(60, 1), start: 'earlier' };
    expect(new Snapshot([row(60, 1)]).again(before)).toBeUndefined();
    expect(new Snapshot([before]).again(before)).toBe(before);
  });
});

describe.runIf(process.platform === 'linux')('a look', () => {
  test('shows a process with its parent, group, start and mark', async () => {
    const child = await sleeper({ [COOKIE_VARIABLE]: 'outer.1:mine.7', MANY: 'x'.repeat(20_000) });
    const pid = child.pid as number;
    const [seen] = (await lookOnLinux()).group(pid);
    expect(seen).toEqual({
      pid,
      parent: process.pid,
      group: pid,
      start: startOf(pid),
      cookies: ['outer.1', 'mine.7'],
    });
  });

  test('shows no mark where the name only ends like it, or the mark stands in a value', async () => {
    const child = await sleeper({ [`NOT_${COOKIE_VARIABLE}`]: 'mine.8', VALUE: `${COOKIE_VARIABLE}=mine.9` });
    expect((await lookOnLinux()).group(child.pid as number)[0]?.cookies).toEqual([]);
  });

  test('shows no zombie', async () => {
    // It ends when its parent has become one that waits for nobody.
    const child = '{ while read -r name < /proc/$$/comm && [ "$name" != sleep ]; do :; done; }';
    const parent = spawn('sh', ['-c', `${child} & echo $!; exec sleep 600`], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    endWithTest(parent);
    const [said] = (await once(parent.stdout, 'data')) as [Buffer];
    const zombie = Number(said.toString());
    for (;;) {
      const state = stateOf(zombie);
      if (state === 'Z') break;
      await new Promise(setImmediate);
    }
    expect((await lookOnLinux()).again({ ...row(zombie, 1), start: startOf(zombie) ?? '' })).toBeUndefined();
  });

  test('is one for all who ask meanwhile, and begins after they have asked', async () => {
    const first = look();
    const [second, third] = [look(), look()];
    const child = await sleeper({});
    const fourth = look();
    const [a, b, c, d] = await Promise.all([first, second, third, fourth]);
    expect(b).toBe(c);
    expect(a).not.toBe(b);
    expect(d?.group(child.pid as number)).toHaveLength(1);
  });

  test.skipIf(spawnSync('ps', ['-A']).error !== undefined)(
    'by ps shows the same processes, parents and groups as by /proc',
    async () => {
      const child = await sleeper({});
      const pid = child.pid as number;
      const [byPs] = (await lookByPs()).group(pid);
      expect(byPs).toMatchObject({ pid, parent: process.pid, group: pid, cookies: [] });
      expect(Date.parse(byPs?.start ?? '')).toBeGreaterThan(0);
      expect((await lookByPs()).again(byPs as ProcessRow)).toEqual(byPs);
    },
  );
});

test.runIf(descendantsOf([]) !== undefined)(
  'who descends from a process is seen at once, through groups and empty environments',
  async () => {
    const line = 'sh -c "env -i setsid sleep 600 & echo up; wait" & wait';
    const child = spawn('sh', ['-c', line], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
    onTestFinished(async () => {
      for (const { pid } of descendantsOf([child.pid as number]) ?? []) process.kill(pid, 'SIGKILL');
      await once(child, 'exit');
    });
    await once(child.stdout, 'data');
    const pid = child.pid as number;
    const [first, second] = descendantsOf([pid]) ?? [];
    expect(first).toMatchObject({ parent: pid, group: pid });
    expect(second).toMatchObject({ parent: first?.pid, cookies: [] });
    expect(second?.start).toBe(startOf(second?.pid ?? 0));
  },
);

/** A process in a group of its own, which is up. */
async function sleeper(env: Record<string, string>): Promise<ChildProcess> {
  const child = spawn('sh', ['-c', 'echo up; exec sleep 600'], {
    detached: true,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  endWithTest(child);
  await once(child.stdout as NodeJS.ReadableStream, 'data');
  return child;
}

function endWithTest(child: ChildProcess): void {
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
}

function stateOf(pid: number): string | undefined {
  return /^State:\t(\w)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
}
