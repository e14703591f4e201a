/** SDK v1 on either side, and on both, over stdio: its client, and the kit's tool on its server. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { ProbeFailure } from '../src/probe/result.ts';
import type { ConnectClient } from '../src/probe/subject/client.ts';
import { connectSdkV1 } from '../src/probe/subject/sdk-v1.ts';
import { connectSdkV2 } from '../src/probe/subject/sdk-v2.ts';
import { AMPLE, cell, probe, server } from './broken/run.ts';
import { startCall, told } from './kit-fixture.ts';
import { seen, tempDir, WAIT_MS } from './probe-fixture.ts';

const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
const V1 = '@modelcontextprotocol/sdk 1.32.2';
const V2 = '@modelcontextprotocol/client 2.4.0';

const PAIRS: [client: string, server: string, connect: ConnectClient, revision: string][] = [
  [V1, 'kit-server-v1', connectSdkV1, '2025-11-25'],
  [V1, 'kit-server', connectSdkV1, '2025-11-25'],
  [V2, 'kit-server-v1', connectSdkV2, '2025-11-25'],
];

describe.each(PAIRS)('the client %s and %s', (name, fixture, connect, revision) => {
  test('call, hear of progress, and answer', async () => {
    const call = await startCall({ era: 'legacy', onSignal: 'forward', server: fixture, connect });
    const { log, control, witness, testId, client, settled, subject } = call;
    expect(client).toMatchObject({ era: 'legacy', name, server: `${fixture} 1.0.0`, revision });
    expect(await client.listTools(WAIT_MS)).toEqual(['slow_marker']);
    expect(await client.answers(WAIT_MS)).toBe(true);

    control.open(testId, 'before_work');
    witness.grant(testId);
    control.open(testId, 'release_response');
    expect(await settled).toMatchObject({ result: { content: [{ type: 'text', text: 'committed' }] } });
    expect(log.of(testId).filter((line) => line.event === 'wire')).toMatchObject([
      { kind: 'request', method: 'tools/call' },
      ...Array(3).fill({ kind: 'notification', method: 'notifications/progress' }),
      { kind: 'response', isError: false },
    ]);
    await client.close();
    expect(await client.answers(WAIT_MS)).toBe(false);
    await subject.stop();
    expect(subject.stderrTail).toBe('');
  });

  test('cancel: the work stops, and the rejection is known for what it is', async () => {
    const call = await startCall({ era: 'legacy', onSignal: 'forward', server: fixture, connect });
    const { log, control, testId, client, abort, settled } = call;
    control.open(testId, 'before_work');
    await seen(log, testId, 'worker_started');
    abort.abort();
    await seen(log, testId, 'worker_stopped');
    await seen(log, testId, 'handler_exited');
    expect(await settled).toEqual({ settlement: 'rejected-as-aborted' });
    expect(told(log, testId)).toEqual(['handler_started', 'handler_signal', 'handler_acted', 'handler_exited']);
    expect(await client.answers(WAIT_MS)).toBe(true);
  });
});

test('a run with its client is of the legacy era alone', async () => {
  const run = await probe({ command: server('sound'), ...AMPLE, client: 'v1', cases: ['during_work'] });
  expect(run.result.eras).toMatchObject([{ era: 'legacy', transport: 'stdio', client: V1 }]);
  expect(cell(run, 'during_work', 'legacy')).toMatchObject({ verdict: 'as expected', outcomes: ['stopped'] });
});

test('the modern era is none of its eras', async () => {
  const connecting = connectSdkV1(new URL('http://127.0.0.1:9/'), 'modern', WAIT_MS);
  await expect(connecting).rejects.toThrow('estop probe: the client of SDK v1 speaks the legacy era only');
  await expect(connecting).rejects.toBeInstanceOf(ProbeFailure);
});

test('where it is not installed, a run with it says so in one sentence', async () => {
  const copy = tempDir();
  cpSync(join(PACKAGE, 'dist'), join(copy, 'dist'), { recursive: true });
  cpSync(join(PACKAGE, 'package.json'), join(copy, 'package.json'));
  mkdirSync(join(copy, 'node_modules/@modelcontextprotocol'), { recursive: true });
  for (const name of ['@modelcontextprotocol/client', 'commander', 'picocolors']) {
    symlinkSync(join(PACKAGE, '../../node_modules', name), join(copy, 'node_modules', name));
  }
  const options = ['--client', 'v1', '--json', '--out', join(copy, 'runs')];
  const command = [process.execPath, '-e', 'process.stdin.resume()'];
  const child = spawn(
    process.execPath,
    [join(copy, 'dist/cli/main.js'), 'probe', 'server', ...options, '--', ...command],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  const [[code], said] = await Promise.all([once(child, 'close'), text(child.stderr)]);
  expect(said).toMatch(/^estop probe: the client of SDK v1 is not installed; npm i -D @modelcontextprotocol\/sdk\n/);
  expect(code).toBe(3);
});
