import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startWitness, type Witness, type WitnessOptions } from '../dist/probe/witness/witness.js';
import { newTestId } from '../src/probe/subject/capture.ts';
import { events, seen, send, statusOf, tempDir, tempLog, WAIT_MS } from './probe-fixture.ts';

async function start(options: Partial<WitnessOptions> = {}) {
  const log = tempLog();
  const markers = tempDir();
  const witness = await startWitness({ log, markers, ...options });
  onTestFinished(() => witness.close());
  const testId = newTestId();
  return { log, markers, witness, testId };
}

/** Starts work and waits until the witness has said so. */
async function work({ log, witness, testId }: Awaited<ReturnType<typeof start>>, job = 1) {
  const request = send(witness.url(testId));
  await seen(log, testId, 'worker_started', job);
  return request;
}

const states = async (witness: Witness, testId: string) =>
  (await witness.readState(testId, WAIT_MS))?.map(({ job, state }) => `${job} ${state}`);

describe('the witness', () => {
  it('sends no byte before the commit, then its marker, then its answer', async () => {
    const started = await start();
    const { log, witness, testId } = started;
    witness.arm(testId, { hold: false });
    const request = await work(started);
    expect(await states(witness, testId)).toEqual(['1 waiting']);
    expect(request.received()).toBe('');
    expect(witness.readMarker(testId)).toEqual({ exists: false, lines: 0 });

    witness.grant(testId);
    const answer = await request.answer(/committed/);
    expect(statusOf(answer)).toBe(200);
    expect(witness.readMarker(testId)).toEqual({ exists: true, lines: 1 });
    expect(await states(witness, testId)).toEqual(['1 committed']);
    expect(events(log, testId).filter((event) => event.startsWith('worker_') && event !== 'worker_state')).toEqual([
      'worker_started',
      'worker_granted',
      'worker_committed',
    ]);
    expect(log.of(testId).find((line) => line.event === 'worker_started')).toMatchObject({
      source: 'witness',
      at: expect.stringMatching(/^\d+$/),
    });
  });

  it('does not fall for `Expect: 100-continue` either', async () => {
    const { log, witness, testId } = await start();
    witness.arm(testId, { hold: false });
    const request = send(witness.url(testId), { headers: { expect: '100-continue', 'content-length': '5' } });
    await seen(log, testId, 'worker_started');
    await states(witness, testId);
    expect(request.received()).toBe('');
    witness.grant(testId);
    expect(await request.answer(/committed/)).toMatch(/^HTTP\/1.1 200/);
  });

  it.each(['GET', 'PUT', 'DELETE'])('takes work by %s', async (method) => {
    const { log, witness, testId } = await start();
    witness.arm(testId, { hold: false });
    witness.grant(testId);
    expect(statusOf(await send(witness.url(testId), { method, body: 'x'.repeat(1_000) }).answer(/committed/))).toBe(
      200,
    );
    expect(log.of(testId)[0]).toMatchObject({ event: 'gate_opened', gate: 'allow_commit', source: 'harness' });
  });

  it('knows no work that is not armed, and none without its token', async () => {
    const { witness, testId } = await start();
    witness.arm(testId, { hold: false });
    expect(statusOf(await send(witness.url('t-other')).answer())).toBe(404);
    const { origin } = new URL(witness.url(testId));
    expect(statusOf(await send(`${origin}/jobs/${'0'.repeat(48)}/${testId}`).answer())).toBe(404);
    expect(await states(witness, testId)).toEqual([]);
  });

  it('stops work whose connection closes while it waits, for good', async () => {
    const started = await start();
    const { log, witness, testId } = started;
    witness.arm(testId, { hold: false });
    const request = await work(started);
    request.socket.destroy();
    await seen(log, testId, 'worker_stopped');
    witness.grant(testId);
    expect(await states(witness, testId)).toEqual(['1 stopped']);
    expect(witness.readMarker(testId)).toEqual({ exists: false, lines: 0 });
  });

  it('takes a retry after a stop for a second job, which commits when it is granted', async () => {
    const started = await start();
    const { log, witness, testId } = started;
    witness.arm(testId, { hold: false });
    (await work(started)).socket.destroy();
    await seen(log, testId, 'worker_stopped');
    const retry = await work(started, 2);
    witness.grant(testId);
    await retry.answer(/committed/);
    expect(await states(witness, testId)).toEqual(['1 stopped', '2 committed']);
    expect(witness.readMarker(testId)).toEqual({ exists: true, lines: 1 });
  });

  it('commits a start that comes after the grant: the grant is for good', async () => {
    const started = await start();
    const { log, markers, witness, testId } = started;
    witness.arm(testId, { hold: false });
    (await work(started)).socket.destroy();
    await seen(log, testId, 'worker_stopped');
    witness.grant(testId);
    witness.grant(testId);
    await send(witness.url(testId)).answer(/committed/);
    await seen(log, testId, 'worker_committed');
    expect(readFileSync(join(markers, testId), 'utf8')).toBe('job 2\n');
    expect(events(log, testId).filter((event) => event === 'gate_opened')).toHaveLength(1);
  });

  it('does not call it a stop when the connection closes after the grant', async () => {
    const started = await start();
    const { log, witness, testId } = started;
    witness.arm(testId, { hold: true });
    const request = await work(started);
    witness.grant(testId);
    await seen(log, testId, 'worker_committed');
    expect(request.received()).toBe('');
    request.socket.destroy();
    await seen(log, testId, 'worker_closed_after_grant');
    witness.release(testId);
    expect(await states(witness, testId)).toEqual(['1 committed']);
    expect(events(log, testId)).not.toContain('worker_stopped');
  });

  it('holds the answer after the commit until it is released, and then no later one', async () => {
    const started = await start();
    const { log, witness, testId } = started;
    witness.arm(testId, { hold: true });
    const request = await work(started);
    witness.grant(testId);
    await seen(log, testId, 'worker_committed');
    await states(witness, testId);
    expect(request.received()).toBe('');
    witness.release(testId);
    await request.answer(/committed/);
    await send(witness.url(testId)).answer(/committed/);
    expect(events(log, testId)).not.toContain('worker_closed_after_grant');
  });

  it('reuses a connection without taking its next request for a stop', async () => {
    const started = await start();
    const { log, witness, testId } = started;
    witness.arm(testId, { hold: false });
    const request = await work(started);
    witness.grant(testId);
    await request.answer(/committed/);
    request.socket.write(`POST ${new URL(witness.url(testId)).pathname} HTTP/1.1\r\nhost: x\r\n\r\n`);
    await seen(log, testId, 'worker_committed', 2);
    await request.answer(/committed[\s\S]*committed/);
    request.socket.destroy();
    await request.closed;
    expect(await states(witness, testId)).toEqual(['1 committed', '2 committed']);
    expect(events(log, testId)).not.toContain('worker_closed_after_grant');
  });

  it('shows a marker that cannot be written: granted, not committed, answered 500', async () => {
    const started = await start();
    const { log, markers, witness, testId } = started;
    mkdirSync(join(markers, testId));
    witness.arm(testId, { hold: false });
    const request = await work(started);
    witness.grant(testId);
    expect(statusOf(await request.answer())).toBe(500);
    expect(await states(witness, testId)).toEqual(['1 granted']);
    expect(witness.readMarker(testId)).toBeUndefined();
    expect(log.of(testId).at(-1)).toMatchObject({ event: 'marker_unreadable', reason: expect.any(String) });
  });

  it('is not ended by Ctrl-C, which reaches the whole group', async () => {
    const { witness, testId } = await start();
    witness.arm(testId, { hold: false });
    process.kill(witness.pid, 'SIGINT');
    process.kill(witness.pid, 'SIGTERM');
    expect(await states(witness, testId)).toEqual([]);
  });

  it('ends with its channel', async () => {
    const { witness } = await start();
    await witness.close();
    expect(() => process.kill(witness.pid, 0)).toThrow('ESRCH');
  });

  it('ends with its harness, also when that ends before it has begun', async () => {
    const child = fork(new URL('../dist/probe/witness/process.js', import.meta.url), { execArgv: [], silent: true });
    onTestFinished(() => void child.kill('SIGKILL'));
    const exited = once(child, 'exit');
    child.disconnect();
    expect(await exited).toEqual([0, null]);
  });
});

describe('a witness that fails', () => {
  it('makes the state unreadable when it is dead', async () => {
    const started = await start();
    const { log, witness, testId } = started;
    witness.arm(testId, { hold: false });
    const request = await work(started);
    process.kill(witness.pid, 'SIGKILL');
    await request.closed;
    expect(await witness.readState(testId, WAIT_MS)).toBeUndefined();
    expect(await witness.readState(testId, WAIT_MS)).toBeUndefined();
    expect(log.of(testId).at(-1)).toMatchObject({
      event: 'worker_state_unreadable',
      reason: 'the witness is not running',
    });
    witness.grant(testId);
    expect(events(log, testId)).not.toContain('worker_stopped');
  });

  it('makes the state unreadable when it does not answer in time', async () => {
    const { log, witness, testId } = await start();
    process.kill(witness.pid, 'SIGSTOP');
    onTestFinished(() => void process.kill(witness.pid, 'SIGCONT'));
    expect(await witness.readState(testId, 50)).toBeUndefined();
    expect(log.of(testId)).toMatchObject([{ event: 'worker_state_unreadable', reason: 'no answer within 50 ms' }]);
  });

  it('can lie, and the marker that the harness reads itself is beside it', async () => {
    const module = script(`
      process.on('message', (m) => {
        if (m.type === 'arm') require('fs').writeFileSync(m.marker, 'job 1\\n');
        if (m.type === 'query') process.send({ type: 'state', request: m.request, testId: m.testId, jobs: [{ job: 1, state: 'stopped' }] });
      });
      process.on('disconnect', () => process.exit());
      process.send({ type: 'ready', url: 'http://127.0.0.1:9/' });
    `);
    const { log, witness, testId } = await start({ module });
    witness.arm(testId, { hold: false });
    expect(await states(witness, testId)).toEqual(['1 stopped']);
    expect(witness.readMarker(testId)).toEqual({ exists: true, lines: 1 });
    expect(events(log, testId)).toEqual(['worker_state', 'marker_read']);
  });

  it('is a failure of the run, in a sentence, when it does not start', async () => {
    await expect(start({ module: script('process.exit(3)') })).rejects.toThrow(
      'estop probe: the witness did not start: it ended with code 3',
    );
  });
});

function script(source: string): URL {
  const file = join(tempDir(), 'witness.cjs');
  writeFileSync(file, source);
  return pathToFileURL(file);
}
