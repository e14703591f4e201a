/** The bench runs, says what it found in one shape, and its exit code can fail. How fast anything is, is not asked. */
import { spawnSync } from 'node:child_process';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { amountRow, type Row, ratioRow, unknownRow } from '../bench/src/row.ts';
import { table } from '../bench/src/table.ts';
import { ALL_WIRINGS } from '../bench/src/wirings.ts';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');

function bench(...args: string[]) {
  return spawnSync(process.execPath, [join(root, 'bench/dist/main.js'), ...args], { encoding: 'utf8' });
}

const init = { name: 'walk', unit: 'us', peerName: 'a tortoise' };

test('a quick run gives rows on stdout and nothing else, and an exit code that follows from them', () => {
  const { stdout, status } = bench('call-memory', 'registry', '--quick', '--json');
  const rows = JSON.parse(stdout) as Row[];
  expect(rows.map(({ name, target }) => [name, target])).toEqual([
    ['call-memory', 1.1],
    ['call-memory, A/A', null],
    ['registry, 1000 live, 100 to a scope', 3],
  ]);
  for (const row of rows) {
    expect(row).toEqual({
      name: expect.any(String),
      unit: 'us',
      ours: expect.any(Number),
      peerName: expect.any(String),
      peer: expect.any(Number),
      ratio: expect.any(Number),
      target: row.target,
      holds: row.target === null ? null : (row.ratio as number) <= row.target,
    });
  }
  expect(status).toBe(rows.every(({ holds }) => holds !== false) ? 0 : 1);
}, 60_000);

test.each(['call-http', 'cancel-http'])(
  'a quick run of %s has a figure for each wiring, or says why not',
  (name) => {
    const rows = JSON.parse(bench(name, '--quick', '--json').stdout) as Row[];
    const wirings = ALL_WIRINGS.filter((wiring) => name === 'call-http' || wiring !== 'v1 stateful, JSON');
    const first = rows.filter((row) => !row.name.endsWith(', A/A'));
    expect(first.map((row) => row.name)).toEqual(wirings.map((wiring) => `${name}, ${wiring}`));
    const measured = first.filter(({ ours }) => typeof ours === 'number').map((row) => row.name);
    expect(measured).toEqual(expect.arrayContaining([`${name}, v2 stateful`, `${name}, v2 createMcpHandler, modern`]));
    for (const { ours, note } of first) if (ours === 'unknown') expect(note).toMatch(/^not measured: ./);
  },
  180_000,
);

test.runIf(process.platform === 'linux')(
  'a quick run of kills finds nothing left of ours, seen from outside',
  () => {
    const rows = JSON.parse(bench('kill', '--quick', '--json').stdout) as Row[];
    const left = rows.filter(({ name }) => name.includes(': left'));
    expect(left.map(({ name }) => name.replace(' (target: ours)', ''))).toEqual([
      'kill, plain child: left',
      'kill, shell with && and pipes: left',
      'kill, all shapes, in a control group: left',
      'kill, thread: spin: left',
      'kill, thread: badRegex: left',
    ]);
    // Where no control group can be made that row is unknown.
    for (const { ours } of left) expect([0, 'unknown']).toContain(ours);
  },
  120_000,
);

test.each([[['no-such-bench']], [['registry', '--no-such-option']]])('%s is no usage', (args) => {
  const { stdout, stderr, status } = bench(...args);
  expect(status).toBe(3);
  expect(stdout).toBe('');
  expect(stderr).toContain(
    'NAME: call-memory, call-stdio, cancel-stdio, call-http, cancel-http, registry, recorded, memory, slots, soak, kill',
  );
});

test('a ratio is the median of the ratios of the rounds: a round that was disturbed as a whole changes nothing', () => {
  const row = ratioRow({ ...init, target: 2 }, [20, 20, 900], [10, 10, 450]);
  expect(row).toMatchObject({ ours: 20, peer: 10, ratio: 2, holds: true });
});

test('what is over its target does not hold, be it a ratio or an amount', () => {
  expect(ratioRow({ ...init, target: 1.1 }, [12], [10]).holds).toBe(false);
  expect(amountRow({ name: 'leak', unit: 'bytes', target: 0 }, 1)).toMatchObject({ holds: false, ratio: null });
});

test('what could not be measured is unknown, and the table says why', () => {
  const row = unknownRow('walk', 'it sleeps');
  expect(row).toMatchObject({ ours: 'unknown', holds: 'unknown' });
  expect(table([row])).toContain('walk: not measured: it sleeps');
});
