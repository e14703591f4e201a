/** Runs of the command that cannot be made: each ends soon, with 3 and one clear sentence, and leaves nothing running. */
import { describe, expect, test } from 'vitest';
import { type Ended, withCli } from './broken/cli.ts';
import { server } from './broken/run.ts';

const node = (script: string): string[] => [process.execPath, '-e', script];
const failed = (command: readonly string[], ...options: string[]): Promise<Ended> =>
  withCli(['--json', '--timeout', '1000', ...options], command, ({ ended }) => ended);

/** All of stderr: the sentence, and where the log is. */
const said = (sentence: string): RegExp => new RegExp(`^estop probe: ${sentence}\nestop probe: the log is .+\n$`);

const REFUSES = `require('node:readline').createInterface(process.stdin).on('line', (line) => {
  const { id } = JSON.parse(line);
  const error = { code: -32600, message: 'go away' };
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, error }));
})`;

const FAILURES: [what: string, command: readonly string[], sentence: string, options?: string[]][] = [
  ['an unknown command', ['no-such-server'], 'cannot start "no-such-server": no such command'],
  [
    'garbage on stdout instead of MCP',
    node('console.log("Server listening on 3000"); setInterval(() => {}, 1000)'),
    'the server wrote to stdout what is no MCP frame: "Server listening on 3000"',
  ],
  [
    'death during initialize',
    node('process.stdin.once("data", () => { console.error("no database"); process.exit(7) })'),
    'the server ended with code 7 before it was connected; its stderr ends: no database',
  ],
  [
    'death whose last words are read after it',
    ['sh', '-c', '(sleep 0.3; echo "no database" >&2) & exit 7'],
    'the server ended with code 7 before it was connected; its stderr ends: no database',
  ],
  ['no answer at all', node('setInterval(() => {}, 1000)'), 'the server did not answer within 3000 ms'],
  [
    'no answer at all, in the era that was asked for',
    node('setInterval(() => {}, 1000)'),
    'the server did not answer within 3000 ms in the modern era',
    ['--era', 'modern'],
  ],
  [
    'an answer that is a refusal, in each era its own',
    node(REFUSES),
    'the server could not be connected in the legacy era: .*go away; ' +
      'the server could not be connected in the modern era: .+',
  ],
  [
    'no such tool',
    server('sound'),
    'the server offers no tool "slow" \\(it offers slow_marker\\)',
    ['--tool', 'slow', '--args', '{"url":"{{work.url}}"}'],
  ],
  [
    'a broken baseline',
    server('does-nothing'),
    'the baseline is broken: the call resolved, and no marker appeared: the work did not come to the witness',
  ],
];

const URL = ['--url', 'http://127.0.0.1:{{port}}/mcp'];
/** A server over HTTP, to be asked with `URL`. */
const http = (answer: string): string[] => [
  ...node(`require('node:http').createServer((req, res) => { ${answer} }).listen(process.argv[1], '127.0.0.1')`),
  '{{port}}',
];

const FAILURES_OVER_HTTP: typeof FAILURES = [
  [
    'death before it listens',
    [...node('console.error("no database"); process.exit(7)'), '{{port}}'],
    'the server ended with code 7 before it was connected; its stderr ends: no database',
  ],
  [
    'death at the first request',
    http('console.error("no database"); process.exit(7)'),
    'the server ended with code 7 before it was connected; its stderr ends: no database',
  ],
  [
    'nobody who listens',
    [...node('setInterval(() => {}, 1000)'), '{{port}}'],
    'the server accepted no connection at http://127.0.0.1:\\d+/mcp within 3000 ms',
    ['--era', 'legacy'],
  ],
  ['no answer at all', http(''), 'the server did not answer within 3000 ms'],
  [
    'another path',
    http('res.writeHead(404, { "content-type": "text/plain" }).end("nothing here")'),
    'the server could not be connected in the legacy era: .*nothing here; ' +
      'the server could not be connected in the modern era: .+',
  ],
  [
    'garbage in the place of MCP',
    http('res.writeHead(200, { "content-type": "application/json" }).end("<html>")'),
    'the server answered with what is no MCP frame: "<html>"',
  ],
  [
    'no such tool',
    server('http', 'v1-stateful', 'sound', '{{port}}'),
    'the server offers no tool "slow" \\(it offers slow_marker, fetch_url\\)',
    ['--era', 'legacy', '--tool', 'slow', '--args', '{"url":"{{work.url}}"}'],
  ],
  [
    'no such tool, of the client of SDK v1',
    server('http', 'v1-stateful', 'sound', '{{port}}'),
    'the server offers no tool "slow" \\(it offers slow_marker, fetch_url\\)',
    ['--client', 'v1', '--tool', 'slow', '--args', '{"url":"{{work.url}}"}'],
  ],
];

describe.concurrent('one sentence, and 3, over HTTP for', () => {
  test.for(FAILURES_OVER_HTTP)('%s', async ([, command, sentence, options = []], { expect }) => {
    const { code, stdout, stderr, ms, left } = await failed(command, ...URL, ...options);
    expect(stderr).toMatch(said(sentence));
    expect(stdout).toBe('');
    expect(code).toBe(3);
    expect(left).toEqual([]);
    expect(ms).toBeLessThan(15_000);
  });
});

describe.concurrent('one sentence, and 3, for', () => {
  test.for(FAILURES)('%s', async ([, command, sentence, options = []], { expect }) => {
    const { code, stdout, stderr, ms, left } = await failed(command, ...options);
    expect(stderr).toMatch(said(sentence));
    expect(stdout).toBe('');
    expect(code).toBe(3);
    expect(left).toEqual([]);
    expect(ms).toBeLessThan(15_000);
  });

  test('a command that cannot be started says nothing of eras, and a server says each of its own once', async () => {
    const run = (command: readonly string[]): Promise<Ended> =>
      withCli(['--case', 'baseline', '--repeat', '1'], command, ({ ended }) => ended);
    expect((await run(['no-such-server'])).stderr).not.toContain('offered');
    const told = (await run(server('sound'))).stderr.match(/(legacy|modern): .*offered.*/g);
    expect(told).toEqual(['legacy: offered by the server', 'modern: offered by the server']);
  });

  test('arguments that do not name the work, before anything is started', async () => {
    const { code, stderr } = await failed(server('black-box'), '--tool', 'fetch_url', '--args', '{"url":"x"}');
    expect(stderr).toMatch(/^estop probe: the work of the tool "fetch_url" .+\{\{work\.url\}\}.+\n$/);
    expect(code).toBe(3);
  });
});
