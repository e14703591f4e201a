import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Child, cancelled, type Output } from '@estop/server/core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { processEvents } from '../support/process-events.ts';
import { published } from '../support/published.ts';
import { isAlive, real, says } from '../support/real.ts';
import { soon, turns } from '../support/waiting.ts';

const STOP = cancelled('client', 'pressed Stop');

describe('a command of a call', () => {
  test('has streams, and its exit', async () => {
    const { child, returns, left } = real().spawn('sh', ['-c', 'read line; echo "got $line"; exit 3']);
    const heard = says(child, 'got it');
    child.stdin.end('it\n');
    await heard;
    expect(await child.exited).toEqual({ code: 3, signal: null });
    returns();
    await left();
  });

  test('is collected, as text, with how it has ended', async () => {
    const output = await outputOf(`printf 'ä€'; printf no >&2; exit 2`);
    expect(output).toEqual({ code: 2, signal: null, stdout: 'ä€', stderr: 'no' });
  });

  test('that is collected after its exit is an error, not a wait', async () => {
    const { child } = real().spawn('echo', ['hi']);
    await soon(Promise.all([child.exited, once(child.stdout, 'close')]), 'it ends');
    await expect(soon(child.output(), 'the answer')).rejects.toThrow(
      'estop: tool "run": echo: output() comes too late: stdout has been read; call it right after spawn()',
    );
  });

  test('that is collected after its exit, and has written nothing, is collected', async () => {
    const { child } = real().spawn('sh', ['-c', 'exit 4']);
    await soon(Promise.all([child.exited, once(child.stdout, 'close'), once(child.stderr, 'close')]), 'it ends');
    expect(await soon(child.output(), 'the answer')).toEqual({ code: 4, signal: null, stdout: '', stderr: '' });
  });

  test('is collected twice at once, and not twice in a row', async () => {
    const { child } = real().spawn('echo', ['hi']);
    const [one, other] = await soon(Promise.all([child.output(), child.output()]), 'both have it');
    expect(other).toEqual(one);
    await expect(soon(child.output(), 'the answer')).rejects.toThrow('comes too late');
  });

  test('is collected from streams that give text', async () => {
    const { child } = real().spawn('printf', ['ä€']);
    child.stdout.setEncoding('utf8');
    expect(await soon(child.output(), 'the output')).toMatchObject({ code: 0, stdout: 'ä€' });
  });

  test('is killed by a signal, which is no code', async () => {
    expect(await outputOf('kill -s USR1 $$')).toMatchObject({ code: null, signal: 'SIGUSR1' });
  });

  test('gets its input, and the end of it', async () => {
    const { child } = real().spawn('wc', ['-c'], { input: 'x'.repeat(300_000) });
    expect((await child.output()).stdout.trim()).toBe('300000');
  });

  test('that does not read its input is no error', async () => {
    const { child } = real().spawn('true', [], { input: 'x'.repeat(1_000_000) });
    expect(await child.output()).toMatchObject({ code: 0 });
  });

  test('reads nothing from a stdin that nobody writes to, when it is collected', async () => {
    const { child } = real().spawn('cat');
    expect(await child.output()).toMatchObject({ code: 0, stdout: '' });
  });

  test('has the directory and the environment that it was given, and the mark', async () => {
    const cwd = scratch();
    writeFileSync(join(cwd, 'here'), '');
    const env = { PATH: process.env['PATH'], MINE: 'yes', LEFT_OUT: undefined };
    for (const at of [cwd, pathToFileURL(cwd)]) {
      const { child } = real().spawn('sh', ['-c', 'ls; env'], { cwd: at, env });
      const { stdout } = await child.output();
      expect(stdout).toMatch(/^here\n/);
      expect(stdout).toMatch(/^MINE=yes$/m);
      expect(stdout).toMatch(/^ESTOP_WORK=[0-9a-f]{24}\.\d+$/m);
      expect(stdout).not.toMatch(/^(LEFT_OUT|HOME)=/m);
    }
  });

  test('gets its arguments as they are', async () => {
    const args = ['', ' a  b ', '"', "'", '$HOME', '`x`', '\\', '*', '-n', '--', 'ä\n'];
    const { child } = real().spawn(process.execPath, ['-p', 'JSON.stringify(process.argv.slice(1))', '--', ...args]);
    expect(JSON.parse((await child.output()).stdout)).toEqual(args);
  });

  test('leads a group and a session of its own, and has not kept the way to the reaper', async () => {
    const { child } = real().spawn('sh', ['-c', 'cut -d " " -f 5,6 /proc/$$/stat; test -e /proc/$$/fd/3 || echo no 3']);
    const { stdout } = await child.output();
    expect(stdout.split('\n')).toEqual([`${child.pid} ${child.pid}`, 'no 3', '']);
  });

  test('that writes more than may be collected is killed, and its call goes on', async () => {
    const { child, call, returns, left } = real().spawn('yes');
    await expect(child.output({ maxBytes: 1_000 })).rejects.toThrow(
      'estop: tool "run": yes wrote more than 1000 bytes to stdout',
    );
    expect(await soon(child.exited, 'it is killed')).toEqual({ code: null, signal: 'SIGKILL' });
    expect(call.state).toBe('running');
    returns();
    await left();
    expect(['ended', 'none-found']).toContain(call.outcome().work);
  });
});

describe('a command by itself', () => {
  test('can be ended by its handler, with all that it has started, and its call goes on', async () => {
    const { call, child, returns, left } = real().shell('trap "" TERM; (sleep 600 & echo $!); sleep 600');
    const pid = Number(await firstLine(child));
    await soon(child.kill(), 'all of it has ended');
    expect([isAlive(child.pid), isAlive(pid)]).toEqual([false, false]);
    expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
    expect(call.state).toBe('running');
    await turns();
    expect(call.works).toEqual([]);
    returns();
    await left();
  });

  test('says when all of it has ended, after a stop too: later than its exit is rejected', async () => {
    const { call, child, returns, left } = real().shell('echo up; exec sleep 600');
    await says(child, 'up');
    call.stop(STOP);
    returns();
    await expect(child.exited).rejects.toBe(STOP);
    await soon(child.ended, 'all of it has ended');
    expect(isAlive(child.pid)).toBe(false);
    await left();
  });
});

describe('a command that cannot be started is an error at once, which names the call', () => {
  const cwd = import.meta.dirname;
  test.each<[string, unknown[], object]>([
    ['is not there', ['no-such-command-here'], { code: 'ENOENT', message: expect.stringContaining(' in PATH (') }],
    ['is not there, by its path', ['./no-such', [], { cwd }], { code: 'ENOENT' }],
    ['is no program', ['./spawn.test.ts', [], { cwd }], { code: 'EACCES' }],
    ['is a directory', ['/'], { code: 'EACCES' }],
    ['is none', [''], { name: 'TypeError' }],
    ['has a NUL', ['a\0b'], { name: 'TypeError' }],
    ['has arguments that are no list', ['true', 'x'], { name: 'TypeError' }],
    ['has an argument that is no text', ['true', [1]], { name: 'TypeError' }],
    ['has a hole among its arguments', ['true', [undefined]], { name: 'TypeError' }],
    ['has an option that is none', ['true', [], { shell: true }], { message: expect.stringContaining('"shell"') }],
    ['has a directory that is none', ['true', [], { cwd: '/no/such' }], { name: 'TypeError' }],
  ])('%s', (_what, command, expected) => {
    const { call } = real().begin();
    const start = (): unknown => call.spawn(...(command as Parameters<typeof call.spawn>));
    expect(start).toThrow(expect.objectContaining({ message: expect.stringMatching(/^estop: tool "run": /) }));
    expect(start).toThrow(expect.objectContaining(expected));
    expect(call.works).toEqual([]);
  });
});

describe('a stop', () => {
  test('rejects what the handler waits for at once, and ends the command', async () => {
    const { call, child, left, returns } = real().shell('echo up; exec sleep 600');
    await says(child, 'up');
    const output = child.output();
    expect(call.stop(STOP)).toBe(true);
    await expect(child.exited).rejects.toBe(STOP);
    await expect(output).rejects.toBe(STOP);
    expect(isAlive(child.pid)).toBe(true);
    returns();
    await left();
  });

  test('need not be awaited anywhere: nothing is left unhandled', async () => {
    const events = processEvents();
    const { call, child, left, returns } = real().shell('sleep 600');
    void child.output();
    call.stop(STOP);
    returns();
    await left();
    await turns();
    expect(events).toEqual({ warnings: [], unhandled: [], uncaught: [] });
  });

  test('is SIGTERM first: a command that cleans up has the time', async () => {
    const file = join(scratch(), 'cleaned');
    const line = `trap 'echo done > ${file}; exit' TERM; echo up; while :; do sleep 0.05; done`;
    const { call, child, left, returns } = real({ termMs: 60_000 }).shell(line);
    await says(child, 'up');
    call.stop(STOP);
    returns();
    await left();
    expect(readFileSync(file, 'utf8')).toBe('done\n');
    expect(call.outcome()).toMatchObject({ state: 'stopped', handler: 'settled', rung: 'term' });
  });

  test('does not wait out the grace when the handler has settled: a command hears nothing before SIGTERM', async () => {
    const { call, child, left, returns } = real({ graceMs: 3_600_000, termMs: 60_000 }).shell(
      'echo up; exec sleep 600',
    );
    await says(child, 'up');
    call.stop(STOP);
    returns();
    await left();
    expect(call.outcome()).toMatchObject({ state: 'stopped', rung: 'term' });
  });

  test('gives a handler that has not settled the grace before its command is touched', async () => {
    const { call, child, left, returns } = real({ graceMs: 3_600_000, termMs: 60_000 }).shell(
      'read line; echo "$line"',
    );
    call.stop(STOP);
    await turns();
    child.stdin.end('still here\n');
    await says(child, 'still here');
    returns();
    await left();
    expect(call.outcome().rung).toBe('term');
  });

  test('is SIGKILL for what traps SIGTERM, and each rung says what it has shown', async () => {
    const all = published('climbed');
    const { call, child, left, returns } = real({ termMs: 50 }).shell('trap "" TERM; echo up; sleep 600; sleep 600');
    await says(child, 'up');
    call.stop(STOP);
    returns();
    await left();
    const rungs = all.map(({ event }) => (event as { rung: string }).rung);
    expect(rungs.slice(0, 4)).toEqual(['signal', 'term', 'kill', 'sweep']);
    const { rung, work } = call.outcome();
    // The kernel counts a process in its control group for a moment after it is seen to have ended.
    expect(['sweep', 'cgroup']).toContain(rung);
    expect(['ended', 'none-found']).toContain(work);
    expect(all.at(-1)?.event).toMatchObject({ outcome: { work } });
  });

  test('ends the streams, though something that got away might hold them open', async () => {
    const { call, child, left, returns } = real().shell('echo up; exec sleep 600');
    await says(child, 'up');
    call.stop(STOP);
    returns();
    await left();
    await turns();
    expect([child.stdin.destroyed, child.stdout.destroyed, child.stderr.destroyed]).toEqual([true, true, true]);
  });

  test('before the command is asked for: none is started', () => {
    const { call } = real().begin();
    call.stop(STOP);
    expect(() => call.spawn('true')).toThrow(STOP);
    expect(call.works).toEqual([]);
  });

  test('of a hundred calls at once takes as long as one that traps SIGTERM, not a hundred times that', async () => {
    const { shell } = real({ termMs: 500 });
    const all = Array.from({ length: 100 }, () => shell('trap "" TERM; echo up; read line; sleep 600'));
    await Promise.all(all.map(({ child }) => says(child, 'up')));
    const began = performance.now();
    for (const { call, returns } of all) {
      call.stop(STOP);
      returns();
    }
    await Promise.all(all.map(({ left }) => left()));
    // Generous: one after the other they would take 50 s in the rung of SIGTERM alone.
    expect(performance.now() - began).toBeLessThan(15_000);
    expect(all.filter(({ child }) => isAlive(child.pid))).toEqual([]);
  });
});

test('what has cleared its environment and left the group is ended as well, while its parent lives', async () => {
  const { call, child, left, returns } = real({ cgroups: false }).shell('env -i setsid sleep 600 & echo $!; wait');
  const pid = Number(await firstLine(child));
  call.stop(STOP);
  returns();
  await left();
  expect(isAlive(pid)).toBe(false);
  expect(call.outcome()).toMatchObject({ work: 'none-found' });
});

describe('a call that ends well', () => {
  test('ends what its command has left, in the background too', async () => {
    const { call, child, left, returns } = real().shell('sleep 600 & echo $!');
    const said: string[] = [];
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => said.push(chunk));
    await child.exited;
    while (said.length === 0) await turns();
    const pid = Number(said.join(''));
    expect(isAlive(pid)).toBe(true);
    expect(call.workFact).toBe('unknown');
    returns();
    await left();
    expect(isAlive(pid)).toBe(false);
    expect(call.outcome()).toMatchObject({ state: 'completed', handler: 'settled' });
    expect(['ended', 'none-found']).toContain(call.outcome().work);
  });

  test('does not keep commands that have ended in the midst of it', async () => {
    const { call, returns, left } = real().begin();
    for (let n = 0; n < 5; n += 1) expect(await call.spawn('true').exited).toEqual({ code: 0, signal: null });
    await soon(
      (async () => {
        while (call.works.length > 0) await turns();
      })(),
      'their end is known',
    );
    returns();
    await left();
  });

  test('cannot start a command any more', async () => {
    const { call, returns, left } = real().begin();
    returns();
    await left();
    expect(() => call.spawn('true')).toThrow('estop: tool "run" is not running, so no command can be started for it');
  });
});

test('a command that is detached goes on when its call is stopped, and nothing is claimed of it', async () => {
  const { call, child, left, returns } = real().spawn('sleep', ['600'], { detach: true });
  onTestFinished(() => void process.kill(child.pid, 'SIGKILL'));
  call.stop(STOP);
  returns();
  await left();
  expect(isAlive(child.pid)).toBe(true);
  expect(call.outcome()).toMatchObject({ state: 'stopped', work: 'none' });
});

test('without a control group what was looked for and not found is evidence; with one it is proof', async () => {
  for (const cgroups of [false, true]) {
    const { call, child, left, returns } = real({ cgroups }).shell('echo up; exec sleep 600');
    await says(child, 'up');
    call.stop(STOP);
    returns();
    await left();
    const { work, signalToProofMs } = call.outcome();
    if (!cgroups) expect(work).toBe('none-found');
    expect(signalToProofMs !== undefined).toBe(work === 'ended');
  }
});

async function firstLine(child: Child): Promise<string> {
  let said = '';
  const line = new Promise<void>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      said += chunk;
      if (said.includes('\n')) resolve();
    });
  });
  await soon(line, 'the command says something');
  return said;
}

async function outputOf(line: string): Promise<Output> {
  const { child, returns, left } = real().shell(line);
  const output = await child.output();
  returns();
  await left();
  return output;
}

function scratch(): string {
  const path = mkdtempSync(join(tmpdir(), 'estop-spawn-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}
