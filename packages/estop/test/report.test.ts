/** What a person and a machine are told of a result. */
import { stripVTControlCharacters } from 'node:util';
import pc from 'picocolors';
import { describe, expect, test } from 'vitest';
import type { AttemptResult, Cell, CellVerdict, EraResult, Observation, ProbeResult } from '../src/probe/result.ts';
import { exitCode } from '../src/report/exit-code.ts';
import { jsonReport } from '../src/report/json.ts';
import { sentence } from '../src/report/sentence.ts';
import { table, wrap } from '../src/report/table.ts';
import { terminalReport } from '../src/report/terminal.ts';

const plain = pc.createColors(false);

describe('the terminal report', () => {
  test('all as expected', () => {
    expect(terminalReport(result([legacy]), { colors: plain })).toBe(`\
estop probe server -- node server.js --stdio
tool slow_marker, 3 attempts a case, timeout 5000 ms, window 2000 ms, took 41.2 s, estop 0.1.0

legacy 2025-11-25 over stdio
  server demo 1.0.0, client @modelcontextprotocol/client 2.4.0

  case         verdict        outcome    stop last seen  handler   attempts
  baseline     ✓ as expected  completed  -               returned  3/3
  during_work  ✓ as expected  stopped    -               acted     3/3

All 2 cells came out as expected on legacy; the witness saw the work stop 12 to 14 ms after the
abort.

Log  estop-runs/now/log.jsonl
Exit code 0: all as expected. (1 something leaked, raced or was noisy; 2 nothing worse than unknown
or invalid; 3 usage, broken baseline or harness failure.)
Run the probe only against test environments, without real credentials.
`);
  });

  test('over HTTP, with where the server was to listen', () => {
    const url = 'http://127.0.0.1:{{port}}/mcp';
    const text = terminalReport({ ...result([{ ...legacy, transport: 'http' }]), url }, { colors: plain });
    expect(text).toMatch(
      /^estop probe server --url http:\/\/127\.0\.0\.1:\{\{port\}\}\/mcp -- node server\.js --stdio\n/,
    );
    expect(text).toContain('legacy 2025-11-25 over http\n');
  });

  test('a leak, a race and an unknown, each with its sign, beside an era that is fine', () => {
    const text = terminalReport(mixed, { colors: plain });
    expect(text).toBe(`\
estop probe server -- node server.js --stdio
tool slow_marker, 3 attempts a case, timeout 5000 ms, window 2000 ms, took 41.2 s, estop 0.1.0

legacy 2025-11-25 over stdio
  server demo 1.0.0, client @modelcontextprotocol/client 2.4.0

  case          verdict        outcome                   stop last seen    handler   attempts
  baseline      ✓ as expected  completed                 -                 returned  3/3
  during_work   ✓ as expected  stopped                   -                 acted     3/3

modern 2026-07-28 over stdio
  server demo 1.0.0, client @modelcontextprotocol/client 2.4.0

  case          verdict        outcome                   stop last seen    handler   attempts
  before_work   ? unknown      not-visible               -                 unknown   2/3 + 4 invalid
  during_work   ✗ leaked       committed-after-signal    reached the       ran on    3/3
                                                         handler, not the
                                                         worker
  after_settle  ± raced        2×quiet,                  -                 returned  3/3
                               1×signalled-after-settle

The work went on after its cancel: during_work on modern (reached the handler, not the worker); 2 of
5 cells came out as expected.

Found
  ✗ during_work on modern: committed-after-signal, in 3 of 3 attempts
    The handler had the signal, and the work committed.
    Open: whether it was passed on.
    Next: what the handler gives its signal to.
  ~ after_settle on modern: signalled-after-settle, in 1 of 3 attempts
    The handler had the signal, and the work committed.
    Open: whether it was passed on.
    Next: what the handler gives its signal to.

Unknown
  ? before_work on modern 2026-07-28 over stdio: What the handler sees is not visible. Last seen:
    reached the server, not the handler. Watched for 2000 ms.

Notes
  - The witness sees one host only.

Log  estop-runs/now/log.jsonl
Exit code 1: something leaked, raced or was noisy. (0 all as expected; 2 nothing worse than unknown
or invalid; 3 usage, broken baseline or harness failure.)
Run the probe only against test environments, without real credentials.
`);
  });

  test('colour adds nothing that the plain text does not say', () => {
    const coloured = terminalReport(mixed, { colors: pc.createColors(true) });
    expect(coloured).toContain(pc.createColors(true).red('✗ leaked'));
    expect(stripVTControlCharacters(coloured)).toBe(terminalReport(mixed, { colors: plain }));
  });

  test('no line is wider than asked, as long as its words are not', () => {
    for (const width of [80, 100, 120]) {
      const lines = terminalReport(mixed, { colors: plain, width }).split('\n');
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
    }
  });

  test('a server cannot draw on the terminal with its name', () => {
    const text = terminalReport(result([{ ...legacy, server: 'evil\x1b[2J\n\u202ename' }]), { colors: plain });
    expect(text).toContain('server evil name, client');
  });
});

describe('the sentence', () => {
  const verdicts: [CellVerdict, string][] = [
    ['leaked', 'The work went on after its cancel: during_work on legacy (x); 1 of 2 cells came out as expected.'],
    [
      'raced',
      'The attempts of one case came out differently: during_work on legacy (x); 1 of 2 cells came out as expected.',
    ],
    [
      'noisy',
      'The effect was right and the protocol was not kept: during_work on legacy (x); 1 of 2 cells came out as expected.',
    ],
    [
      'unknown',
      'No leak was seen, but not all could be seen: during_work on legacy (x); 1 of 2 cells came out as expected.',
    ],
    [
      'invalid',
      'No leak was seen, but not every phase was reached: during_work on legacy; 1 of 2 cells came out as expected.',
    ],
  ];
  test.each(verdicts)('%s is named, with the rest counted', (verdict, says) => {
    const bad: Cell = { ...good('during_work', 'stopped', 'acted'), verdict, outcomes: ['x'] };
    expect(sentence(result([{ ...legacy, cells: [baseline, bad] }]))).toBe(says);
  });

  test('nothing judged is not called good', () => {
    expect(sentence(result([]))).toBe('Nothing was judged.');
  });
});

describe('the exit code', () => {
  const codes: [verdicts: CellVerdict[], code: number][] = [
    [['as expected', 'as expected'], 0],
    [['as expected', 'noisy'], 1],
    [['raced', 'as expected'], 1],
    [['as expected', 'leaked'], 1],
    [['unknown', 'leaked', 'invalid'], 1],
    [['unknown', 'as expected'], 2],
    [['as expected', 'invalid'], 2],
    [['unknown', 'invalid'], 2],
    [[], 3],
  ];
  test.each(codes)('%j gives %i', (verdicts, code) => {
    const cells = verdicts.map((verdict) => ({ ...baseline, verdict }));
    expect(exitCode(result([{ ...legacy, cells }]))).toBe(code);
  });

  test('the worst era decides', () => {
    expect(exitCode(mixed)).toBe(1);
    expect(exitCode(result([]))).toBe(3);
  });
});

test('the JSON is the result, indented, and the same each time', () => {
  expect(JSON.parse(jsonReport(mixed))).toEqual(mixed);
  expect(jsonReport(mixed)).toMatch(/^\{\n {2}"schema": 1,\n {2}"estop": "0\.1\.0",\n/);
  expect(jsonReport(mixed)).toBe(jsonReport(structuredClone(mixed)));
});

describe('the table', () => {
  test('the widest column that may give way is wrapped, and paint does not count', () => {
    const red = pc.createColors(true).red;
    const lines = table(
      [{ head: 'a' }, { head: 'b', wrap: true }],
      [['one', { text: 'some words to wrap', paint: red }]],
      { width: 20 },
    );
    expect(lines.map(stripVTControlCharacters)).toEqual(['  a    b', '  one  some words to', '       wrap']);
    expect(lines[1]).toBe(`  one  ${red('some words to')}`);
  });

  test('a word that is longer than a line is broken at its hyphen, or where it must be', () => {
    expect(wrap('a stop-confirmed b', 9)).toEqual(['a', 'stop-', 'confirmed', 'b']);
    expect(wrap('a abcdefgh b', 4)).toEqual(['a', 'abcd', 'efgh', 'b']);
  });

  test('a column does not get narrower than what may not be broken', () => {
    expect(table([{ head: 'a', wrap: true }], [['abcdefgh']], { width: 4 })).toEqual(['  a', '  abcdefgh']);
  });
});

// The results that these tests read.

function attempt(n: number, outcome: AttemptResult['outcome'], observations: Observation[] = []): AttemptResult {
  const grade = observations[0]?.grade ?? 'as expected';
  const stop = outcome === 'stopped' ? { stopMs: 11 + n } : {};
  return { testId: `t${n}`, attempt: n, grade, outcome, observations, handlerEnd: 'ran on', ...stop };
}

function good(name: Cell['case'], outcome: AttemptResult['outcome'], end: Cell['handlerEnds'][number]): Cell {
  return {
    case: name,
    verdict: 'as expected',
    outcomes: [outcome],
    boundary: '',
    handlerEnds: [end],
    attempts: [1, 2, 3].map((n) => attempt(n, outcome)),
    invalidPhases: 0,
  };
}

function observed(name: Observation['name'], grade: Observation['grade']): Observation {
  const shows = 'The handler had the signal, and the work committed.';
  return {
    name,
    grade,
    shows,
    leavesOpen: 'whether it was passed on.',
    lookNext: 'what the handler gives its signal to.',
  };
}

function result(eras: readonly EraResult[], rest: Partial<ProbeResult> = {}): ProbeResult {
  return {
    schema: 1,
    estop: '0.1.0',
    command: ['node', 'server.js', '--stdio'],
    tool: 'slow_marker',
    windowMs: 2_000,
    timeoutMs: 5_000,
    repeats: 3,
    eras,
    unknowns: [],
    notes: [],
    durationMs: 41_234,
    log: 'estop-runs/now/log.jsonl',
    ...rest,
  };
}

const baseline = good('baseline', 'completed', 'ran on');
const legacy: EraResult = {
  era: 'legacy',
  revision: '2025-11-25',
  transport: 'stdio',
  client: '@modelcontextprotocol/client 2.4.0',
  server: 'demo 1.0.0',
  cells: [baseline, good('during_work', 'stopped', 'acted')],
};
const leak = observed('committed-after-signal', 'leaked');
const modern: EraResult = {
  ...legacy,
  era: 'modern',
  revision: '2026-07-28',
  cells: [
    {
      ...good('before_work', 'not-visible', 'unknown'),
      verdict: 'unknown',
      attempts: [1, 2].map((n) => attempt(n, 'not-visible', [observed('not-visible', 'unknown')])),
      invalidPhases: 4,
    },
    {
      ...good('during_work', 'committed-after-signal', 'ran on'),
      verdict: 'leaked',
      boundary: 'reached the handler, not the worker',
      attempts: [1, 2, 3].map((n) => attempt(n, 'committed-after-signal', [leak])),
    },
    {
      ...good('after_settle', 'quiet', 'ran on'),
      verdict: 'raced',
      outcomes: ['quiet', 'signalled-after-settle'],
      attempts: [
        attempt(1, 'quiet'),
        attempt(2, 'quiet'),
        attempt(3, 'signalled-after-settle', [observed('signalled-after-settle', 'noisy')]),
      ],
    },
  ],
};
const mixed = result([legacy, modern], {
  unknowns: [
    {
      era: 'modern',
      revision: '2026-07-28',
      transport: 'stdio',
      case: 'before_work',
      boundaryLastSeen: 'reached the server, not the handler',
      watchedMs: 2_000,
      what: 'What the handler sees is not visible.',
    },
  ],
  notes: ['The witness sees one host only.'],
});
