/** The examples of the façade run as their commands say; and what was stopped is asked, not only the one who stopped it. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { demonstrate as command } from '../facade/command.ts';
import { demonstrate as database } from '../facade/database.ts';
import { demonstrate as fetches } from '../facade/fetch.ts';
import { demonstrate as loop } from '../facade/loop.ts';
import { openDatabaseService } from '../facade/parts/database-service.ts';
import { killRunning, programs } from '../facade/parts/processes.ts';
import { Steps } from '../facade/parts/steps.ts';
import { openWebsite } from '../facade/parts/website.ts';

describe('as a command it says what it saw, and exits with 0', () => {
  test.each([
    [
      'fetch',
      [
        'call:    a page that answers: <h1>Here it is</h1>',
        'stop:    a page that does not end: tool "scrape_webpage" reached its deadline of 500 ms',
        'stopped: the request; the website saw 1 of 2 clients hang up',
      ],
    ],
    [
      'database',
      [
        'call:    a query that ends: [{"name":"Ada","age":36}]',
        /^stop: {4}a query that does not end: .*the user pressed Stop/,
        /^stopped: the query; the database had computed \d+ rows, and runs 0$/,
      ],
    ],
    [
      'loop',
      [
        'call:    a short training: trained for 2 epochs',
        'stop:    a long one: its caller gave up',
        'stopped: the loop; 8 steps were done of 1002, and 0 handlers run',
      ],
    ],
    [
      'command',
      [
        'call:    a command that ends: up',
        'leak:    one that does not, naively: its caller gave up; the shell has ended, tail and tee run on',
        'stop:    the same one: its caller gave up',
        'stopped: the command and all that it started; of its processes 0 run',
      ],
    ],
  ])('%s', async (name, lines) => {
    const file = fileURLToPath(new URL(`../dist/facade/${name}.js`, import.meta.url));
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], { timeout: 20_000 });
    expect(stderr).toBe('');
    const said = stdout.trimEnd().split('\n');
    expect(said).toHaveLength(lines.length);
    for (const [n, line] of lines.entries()) expect(said[n]).toEqual(expect.stringMatching(lineIs(line)));
  });
});

test('fetch: the website saw the connection close, of the page that was stuck and of no other', async () => {
  const site = await openWebsite();
  onTestFinished(() => site.close());
  await fetches(site, () => {});
  expect(site.seen).toEqual({ requests: 2, hangUps: 1 });
});

test('database: the service saw the connection close, and its query computes no further row', async () => {
  const service = await openDatabaseService();
  onTestFinished(() => service.close());
  await database(service, () => {});
  const { rows } = service.seen;
  await turns();
  expect(service.seen).toEqual({ rows, running: 0, givenUp: 1 });
  // And it is as well as before.
  const response = await fetch(`${service.url}/query`, { method: 'POST', body: '{"query":"SELECT 1 AS one"}' });
  expect(await response.json()).toEqual([{ one: 1 }]);
});

test('loop: the counter stands still though nothing holds the steps', async () => {
  const steps = new Steps(3);
  await loop(steps, () => {});
  // Two of the short training, three that were free, and the one that was under way.
  expect(steps.done).toBe(6);
  await turns();
  expect(steps.done).toBe(6);
});

test('command: nothing that it started runs, nor what had to be ended by hand', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'estop-command-'));
  onTestFinished(() => {
    killRunning(folder);
    rmSync(folder, { recursive: true });
  });
  const said: string[] = [];
  await command(folder, (line) => said.push(line));
  expect(programs(folder)).toEqual([]);
  expect(said).toHaveLength(4);
});

/** More turns of the event loop than a step or a row takes. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
}

function lineIs(line: string | RegExp): RegExp {
  return typeof line === 'string' ? new RegExp(`^${line.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`) : line;
}
