/**
 * The built command, run as a process: what it prints where, and how it ends.
 *
 * What needs no server runs the command as it is. How it treats a run is seen on a copy whose probe is a stand-in
 * (`fixtures/stub-probe.mjs`): it does at once what the subject's command tells it to.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
const MAIN = join(PACKAGE, 'dist/cli/main.js');

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function start(main: string, args: readonly string[], options: SpawnOptions = {}): ChildProcess {
  return spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'], ...options });
}

async function ended(child: ChildProcess): Promise<Ended> {
  const [[code], stdout, stderr] = await Promise.all([once(child, 'close'), read(child.stdout), read(child.stderr)]);
  return { code, stdout, stderr };
}

const read = (stream: ChildProcess['stdout']): Promise<string> | string => (stream ? text(stream) : '');
const estop = (...args: string[]): Promise<Ended> => ended(start(MAIN, args));

describe('help', () => {
  test('--version prints the version alone', async () => {
    expect(await estop('--version')).toEqual({ code: 0, stdout: '0.1.0\n', stderr: '' });
  });

  test('--help has examples', async () => {
    const { code, stdout } = await estop('--help');
    expect(stdout).toContain('estop probe server -- node server.js');
    expect(code).toBe(0);
  });

  test('the help of the probe names the exit codes, and where it may be run', async () => {
    const { code, stdout } = await estop('probe', 'server', '--help');
    expect(stdout).toContain('Usage: estop probe server [options] -- CMD...');
    expect(stdout).toContain('  2  nothing worse than unknown or invalid\n');
    expect(stdout).toContain(`--url 'http://127.0.0.1:{{port}}/mcp' -- node server.js {{port}}`);
    expect(stdout).toContain('--client v1 -- env PORT={{port}} node server.js');
    expect(stdout).toContain(`--args '{"url":"{{work.url}}"}'`);
    expect(stdout).toContain(`--args '{"command":"{{work.command}}"}'`);
    expect(stdout).toContain('Run the probe only against test environments, without real credentials.');
    expect(code).toBe(0);
  });

  test('cases are listed with what should come out', async () => {
    const { code, stdout } = await estop('cases');
    const heads = stdout.split('\n').map((line) => line.trim().split(/ {2,}/).slice(0, 3));
    expect(heads).toContainEqual(['during_work', 'stopped', 'the worker has started']);
    expect(heads).toContainEqual(['after_settle', 'quiet', 'the call has resolved']);
    expect(stdout).not.toContain('\x1b');
    expect(code).toBe(0);
  });
});

describe('a mistake in usage is one sentence on stderr, and 3', () => {
  const mistakes: [args: string[], sentence: string | RegExp][] = [
    [['prove'], /^estop: unknown command 'prove'\n/],
    [['probe', 'client'], "estop: unknown command 'client'\n"],
    [['probe', 'server'], "estop probe: the server's command is missing; write it after --\n"],
    [['probe', 'server', '--'], "estop probe: the server's command is missing; write it after --\n"],
    [
      ['probe', 'server', 'node', '--', 'x'],
      'estop probe: write the server\'s command after --; "node" stands before it\n',
    ],
    [['probe', 'server', '--nope', '--', 'x'], "estop: unknown option '--nope'\n"],
    [['probe', 'server', '--args', '{', '--', 'x'], /^estop probe: --args is not JSON: .+\n$/],
    [['probe', 'server', '--args', '[1]', '--', 'x'], 'estop probe: --args must be a JSON object, got [1]\n'],
    [['probe', 'server', '--args', '{}', '--', 'x'], 'estop probe: --args needs --tool\n'],
    [
      ['probe', 'server', '--repeat', '0', '--', 'x'],
      /^estop probe: --repeat must be a whole number from 1 to \d+, got "0"\n$/,
    ],
    [['probe', 'server', '--timeout', '5s', '--', 'x'], /^estop probe: --timeout must be .+, got "5s"\n$/],
    [['probe', 'server', '--window', '-1', '--', 'x'], /^estop probe: --window must be .+, got "-1"\n$/],
    [
      ['probe', 'server', '--case', 'x', '--', 'x'],
      /^estop probe: there is no case "x"; the cases are baseline, .+\n$/,
    ],
    [
      ['probe', 'server', '--url', 'http://127.0.0.1:{{port}}/'],
      /^estop probe: --url needs the command of the server after --: the probe starts it itself, .+\n$/,
    ],
    [
      ['probe', 'server', '--url', 'http://127.0.0.1:3000/mcp', '--', 'x', '{{port}}'],
      'estop probe: the URL needs {{port}} in the place of its port, got "http://127.0.0.1:3000/mcp"\n',
    ],
    [
      ['probe', 'server', '--url', 'ws://127.0.0.1:{{port}}/', '--', 'x', '{{port}}'],
      'estop probe: the URL must be one with http:, got "ws://127.0.0.1:{{port}}/"\n',
    ],
    [
      ['probe', 'server', '--url', 'http://127.0.0.1:{{port}}/', '--', 'x'],
      /^estop probe: the server would not know its port; write .+ env PORT=\{\{port\}\} before it\n$/,
    ],
    [['probe', 'server', '--client', 'v3', '--', 'x'], 'estop probe: --client must be v1 or v2, got "v3"\n'],
    [
      ['probe', 'server', '--client', 'v1', '--era', 'modern', '--', 'x'],
      'estop probe: the client of SDK v1 speaks the legacy era only; take v2 for the modern one\n',
    ],
    [['probe', 'server', '--era', 'x', '--', 'x'], 'estop probe: --era must be one of auto, legacy, modern, got "x"\n'],
  ];
  test.each(mistakes)('estop %j', async (args, sentence) => {
    const { code, stdout, stderr } = await estop(...args);
    if (typeof sentence === 'string') expect(stderr).toBe(sentence);
    else expect(stderr).toMatch(sentence);
    expect(stdout).toBe('');
    expect(code).toBe(3);
  });
});

describe('a run of the probe itself', () => {
  const subject = ['--', process.execPath, join(PACKAGE, 'test/fixtures/kit-server.mjs')];
  const quick = ['probe', 'server', '--era', 'legacy', '--case', 'held', '--repeat', '1', '--window', '0'];
  let out: string;

  beforeAll(() => {
    out = mkdtempSync(join(tmpdir(), 'estop-cli-'));
  });
  afterAll(() => rmSync(out, { recursive: true, force: true }));

  test('one case against a server with the kit', async () => {
    const { code, stdout, stderr } = await estop(...quick, '--timeout', '500', '--out', out, '--json', ...subject);
    expect(stderr).toBe('');
    expect(JSON.parse(stdout).eras[0].cells).toMatchObject([{ case: 'baseline' }, { case: 'held' }]);
    expect(code).toBe(0);
  });

  test('a server that does not start is a failure in one sentence', async () => {
    const { code, stdout, stderr } = await estop(...quick, '--out', out, '--json', '--', join(out, 'no-such-server'));
    expect(stderr).toMatch(/^estop probe: .+\n(estop probe: the log is .+\n)?$/);
    expect(stdout).toBe('');
    expect(code).toBe(3);
  });

  test('interrupted in the middle, it leaves nothing running', async () => {
    const child = start(MAIN, [...quick, '--timeout', '60000', '--out', out, ...subject]);
    child.stderr?.on('data', (chunk) => String(chunk).includes('baseline #1 done') && child.kill('SIGINT'));
    const { code, stderr } = await ended(child);
    expect(stderr).toMatch(/estop probe: interrupted by SIGINT; the log so far is .+\n$/);
    expect(code).toBe(130);
    // That nothing is left is the check after this file.
  });
});

describe('how it treats a run', () => {
  let copy: string;
  let main: string;

  beforeAll(() => {
    copy = mkdtempSync(join(tmpdir(), 'estop-cli-'));
    main = join(copy, 'dist/cli/main.js');
    cpSync(join(PACKAGE, 'dist'), join(copy, 'dist'), { recursive: true });
    cpSync(join(PACKAGE, 'package.json'), join(copy, 'package.json'));
    mkdirSync(join(copy, 'dist/probe'), { recursive: true });
    cpSync(join(PACKAGE, 'test/fixtures/stub-probe.mjs'), join(copy, 'dist/probe/probe.js'));
    symlinkSync(join(PACKAGE, '../../node_modules'), join(copy, 'node_modules'));
  });
  afterAll(() => rmSync(copy, { recursive: true, force: true }));

  const probe = (...args: string[]): Promise<Ended> => ended(start(main, ['probe', 'server', ...args]));

  test('everything after -- is the command, with its own options and its own --', async () => {
    const own = ['as expected', '--era', 'x', '--json', '--help', '-V', '--', 'more'];
    const { code, stdout } = await probe('--json', '--era', 'legacy', '--', ...own);
    expect(JSON.parse(stdout).command).toEqual(own);
    expect(code).toBe(0);
  });

  test('the options arrive', async () => {
    const options = ['--era', 'modern', '--tool', 't', '--args', '{"a":1}', '--case', 'held', '--case', 'during_work'];
    const where = ['--url', 'http://127.0.0.1:{{port}}/mcp', '--client', 'v1'];
    const numbers = ['--repeat', '5', '--timeout', '100', '--window', '0', '--out', 'there'];
    const { stdout } = await probe('--json', ...options, ...where, ...numbers, '--', 'as expected');
    expect(JSON.parse(JSON.parse(stdout).notes[0])).toEqual({
      command: ['as expected'],
      url: 'http://127.0.0.1:{{port}}/mcp',
      client: 'v1',
      era: 'modern',
      tool: 't',
      args: { a: 1 },
      cases: ['held', 'during_work'],
      repeats: 5,
      timeoutMs: 100,
      windowMs: 0,
      out: 'there',
    });
  });

  test.each([
    ['as expected', 0],
    ['leaked', 1],
    ['unknown', 2],
  ])('%s ends with %i, the report on stdout and the progress on stderr', async (verdict, expected) => {
    const { code, stdout, stderr } = await probe('--', verdict);
    expect(stdout).toMatch(new RegExp(`^  baseline +. ${verdict} `, 'm'));
    expect(stdout).not.toContain('\x1b');
    expect(stderr).toBe(
      'estop probe: the log is runs/log.jsonl\n' +
        'estop probe: legacy: offered by the server\n' +
        'estop probe: 1/2 legacy: baseline #1 done\n' +
        'estop probe: 1/2 legacy: baseline #2 did not reach its phase\n',
    );
    expect(code).toBe(expected);
  });

  test('with --json stderr is silent where nobody watches', async () => {
    expect((await probe('--json', '--', 'as expected')).stderr).toBe('');
  });

  test('a failure is its sentence, and where the log is', async () => {
    const { code, stdout, stderr } = await probe('--json', '--', 'fail');
    expect(stderr).toBe('estop probe: the server does not answer\nestop probe: the log is runs/log.jsonl\n');
    expect(stdout).toBe('');
    expect(code).toBe(3);
  });

  test('what nobody foresaw is 3 too, with a stack', async () => {
    for (const how of ['throw', 'throw later']) {
      const { code, stderr } = await probe('--json', '--', how);
      expect(stderr).toMatch(/Error: unforeseen\n +at /);
      expect(code).toBe(3);
    }
  });

  test('a reader who leaves early gets no complaint', async () => {
    const child = start(main, ['probe', 'server', '--json', '--', 'much']);
    child.stdout?.once('data', () => child.stdout?.destroy());
    const [[code], stderr] = await Promise.all([once(child, 'exit'), read(child.stderr)]);
    expect(stderr).toBe('');
    expect(code).toBe(0);
  });

  test('a long result arrives whole', async () => {
    const { stdout } = await probe('--json', '--', 'much');
    expect(JSON.parse(stdout).notes[1]).toHaveLength(1_000_000);
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s waits for the cleaning up, and ends with %i', async (signal, expected) => {
    const child = start(main, ['probe', 'server', '--json', '--', 'hang']);
    child.stdout?.once('data', () => child.kill(signal));
    const { code, stdout, stderr } = await ended(child);
    expect(stdout).toBe(`running\ncleaned up after: interrupted by ${signal}\n`);
    expect(stderr).toBe(
      `estop probe: ${signal}: stopping what the run started; SIGINT again leaves at once\n` +
        `estop probe: interrupted by ${signal}; the log so far is runs/log.jsonl\n`,
    );
    expect(code).toBe(expected);
  });

  test('a second SIGINT does not wait for the cleaning up', async () => {
    const child = start(main, ['probe', 'server', '--json', '--', 'hang for good']);
    child.stdout?.once('data', () => child.kill('SIGINT'));
    child.stderr?.once('data', () => child.kill('SIGINT'));
    const { code, stdout } = await ended(child);
    expect(stdout).toBe('running\n');
    expect(code).toBe(130);
  });
});
