import { Worker } from 'node:worker_threads';
import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport, McpServer } from '@modelcontextprotocol/server';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { slowMarker, slowMarkerTool } from '../src/kit/index.ts';
import type { AttemptEvent, Era } from '../src/probe/events.ts';
import { createCapture } from '../src/probe/subject/capture.ts';
import { connectSdkV2 } from '../src/probe/subject/sdk-v2.ts';
import { startSubject } from '../src/probe/subject/subject.ts';
import { startCall, startHarness, told } from './kit-fixture.ts';
import { seen, tempLog, WAIT_MS } from './probe-fixture.ts';

describe.each<Era>(['legacy', 'modern'])('the kit on a real server, %s', (era) => {
  it('waits at each gate, works, and answers', async () => {
    const { log, control, witness, testId, client, settled, subject } = await startCall({ era, onSignal: 'forward' });
    expect(client).toMatchObject({ era, name: '@modelcontextprotocol/client 2.4.0', server: 'kit-server 1.0.0' });
    expect(client.revision).toBe(era === 'modern' ? '2026-07-28' : '2025-11-25');
    expect(await client.listTools(WAIT_MS)).toEqual(['slow_marker']);
    expect(await client.answers(WAIT_MS)).toBe(true);

    control.open(testId, 'before_work');
    await seen(log, testId, 'worker_started');
    witness.grant(testId);
    await seen(log, testId, 'handler_got_result');
    control.open(testId, 'release_response');
    expect(await settled).toMatchObject({ result: { content: [{ type: 'text', text: 'committed' }] } });
    expect(told(log, testId)).toEqual(['handler_started', 'handler_got_result', 'handler_exited']);
    expect(log.of(testId).filter((line) => line.event === 'wire')).toMatchObject([
      { kind: 'request', method: 'tools/call' },
      ...Array(3).fill({ kind: 'notification', method: 'notifications/progress' }),
      { kind: 'response', isError: false },
    ]);
    await client.close();
    await subject.stop();
    expect(await subject.exited).toEqual({ code: 0, signal: null });
    expect(await client.answers(WAIT_MS)).toBe(false);
  });

  it('forwards the signal: the work stops, and the handler says where it acted', async () => {
    const { log, control, witness, testId, abort, settled, client } = await startCall({ era, onSignal: 'forward' });
    control.open(testId, 'before_work');
    await seen(log, testId, 'worker_started');
    abort.abort();
    await seen(log, testId, 'worker_stopped');
    await seen(log, testId, 'handler_exited');
    expect(await settled).toEqual({ settlement: 'rejected-as-aborted' });
    expect(told(log, testId)).toEqual(['handler_started', 'handler_signal', 'handler_acted', 'handler_exited']);
    expect(line(log, testId, 'handler_acted')).toMatchObject({ checkpoint: 'waiting_on_work' });
    expect(line(log, testId, 'handler_exited')).toMatchObject({ how: 'threw' });
    witness.grant(testId);
    expect(await witness.readState(testId, WAIT_MS)).toEqual([{ job: 1, state: 'stopped' }]);
    expect(await client.answers(WAIT_MS)).toBe(true);
  });

  it('acts before the work: none is ever started', async () => {
    const { log, witness, testId, abort } = await startCall({ era, onSignal: 'forward' });
    abort.abort();
    await seen(log, testId, 'handler_exited');
    expect(line(log, testId, 'handler_acted')).toMatchObject({ checkpoint: 'before_work' });
    expect(await witness.readState(testId, WAIT_MS)).toEqual([]);
  });

  it('acts after the work: the effect stands', async () => {
    const { log, control, witness, testId, abort } = await startCall({ era, onSignal: 'listen' });
    control.open(testId, 'before_work');
    witness.grant(testId);
    await seen(log, testId, 'handler_got_result');
    abort.abort();
    await seen(log, testId, 'handler_exited');
    expect(line(log, testId, 'handler_acted')).toMatchObject({ checkpoint: 'release_response' });
    expect(witness.readMarker(testId)).toEqual({ exists: true, lines: 1 });
  });

  it('listens and does not forward: the handler is gone, and the work goes on', async () => {
    const { log, control, witness, testId, abort, subject } = await startCall({ era, onSignal: 'listen' });
    control.open(testId, 'before_work');
    await seen(log, testId, 'worker_started');
    abort.abort();
    await seen(log, testId, 'handler_exited');
    expect(told(log, testId)).toEqual(['handler_started', 'handler_signal', 'handler_acted', 'handler_exited']);
    expect(await witness.readState(testId, WAIT_MS)).toEqual([{ job: 1, state: 'waiting' }]);
    witness.grant(testId);
    await seen(log, testId, 'worker_committed');
    expect(told(log, testId)).not.toContain('handler_gone');
    await subject.stop();
    expect(await subject.exited).toEqual({ code: 0, signal: null });
    expect(subject.stderrTail).toBe('');
  });

  it('ignores the signal and says that it had it', async () => {
    const { log, control, witness, testId, abort } = await startCall({ era, onSignal: 'ignore' });
    control.open(testId, 'before_work');
    await seen(log, testId, 'worker_started');
    abort.abort();
    await seen(log, testId, 'handler_signal');
    witness.grant(testId);
    await seen(log, testId, 'handler_got_result');
    control.open(testId, 'release_response');
    await seen(log, testId, 'handler_exited');
    expect(told(log, testId)).toEqual(['handler_started', 'handler_signal', 'handler_got_result', 'handler_exited']);
    expect(line(log, testId, 'handler_exited')).toMatchObject({ how: 'returned' });
  });

  it('is gone when its process is killed, and so is its work', async () => {
    const { log, control, testId, subject } = await startCall({ era, onSignal: 'ignore' });
    control.open(testId, 'before_work');
    await seen(log, testId, 'worker_started');
    subject.killNow();
    await seen(log, testId, 'handler_gone');
    await seen(log, testId, 'worker_stopped');
  });

  it('does not hang or crash when the control plane goes away', async () => {
    const { control, settled, client, subject } = await startCall({ era, onSignal: 'forward' });
    await control.close();
    expect(await settled).toMatchObject({ result: { isError: true } });
    expect(await client.answers(WAIT_MS)).toBe(true);
    expect(subject.alive).toBe(true);
  });
});

describe.each<Era>(['legacy', 'modern'])('connecting, %s', (era) => {
  it('gives up on a server that never answers, within its time', async () => {
    const log = tempLog();
    const command = [process.execPath, '-e', `console.log('hello'); process.stdin.resume()`];
    const subject = await startSubject({ command, env: {}, era, log, capture: createCapture(log) });
    onTestFinished(() => subject.stop());
    await expect(connectSdkV2(subject.endpoint, era, 300)).rejects.toThrow();
  });

  it('fails at once on a server that ends', async () => {
    const log = tempLog();
    const command = [process.execPath, '-e', `process.exit(1)`];
    const subject = await startSubject({ command, env: {}, era, log, capture: createCapture(log) });
    onTestFinished(() => subject.stop());
    await expect(connectSdkV2(subject.endpoint, era, 60_000)).rejects.toThrow();
  });
});

describe('the kit', () => {
  afterEach(() => void vi.unstubAllEnvs());

  it('is registered as it is, and lists its arguments', async () => {
    const server = new McpServer({ name: 's', version: '1' });
    server.registerTool(slowMarkerTool.name, slowMarkerTool.config, slowMarker({ onSignal: 'forward' }));
    const [a, b] = InMemoryTransport.createLinkedPair();
    await server.connect(a);
    const client = new Client({ name: 'c', version: '1' });
    await client.connect(b);
    onTestFinished(() => client.close());
    const { tools } = await client.listTools();
    expect(tools[0]?.inputSchema).toMatchObject({
      type: 'object',
      properties: { test_id: { type: 'string' }, work_url: { type: 'string' } },
      required: ['test_id', 'work_url'],
    });
    const bad = await client.callTool({ name: 'slow_marker', arguments: { test_id: 7 } });
    expect(JSON.stringify(bad)).toContain('test_id and work_url must be strings');
  });

  it('says in one sentence that it needs a probe', async () => {
    vi.stubEnv('ESTOP_CONTROL_URL', undefined);
    const tool = slowMarker({ onSignal: 'forward' });
    await expect(tool({ test_id: 't', work_url: 'http://127.0.0.1:9/' }, {})).rejects.toThrow(
      'estop kit: slow_marker works only under `estop probe`',
    );
  });

  it('reports a signal that was aborted before it started, in order', async () => {
    const { log, control, testId, args } = await startHarness();
    for (const [name, value] of Object.entries(control.env)) vi.stubEnv(name, value);
    const reason = new Error('stop');
    const tool = slowMarker({ onSignal: 'forward' });
    await expect(tool(args, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(told(log, testId)).toEqual(['handler_started', 'handler_signal', 'handler_acted', 'handler_exited']);
  });

  it('reports a signal that comes after it has answered', async () => {
    const { log, control, witness, testId, args } = await startHarness();
    for (const [name, value] of Object.entries(control.env)) vi.stubEnv(name, value);
    control.open(testId, 'before_work');
    control.open(testId, 'release_response');
    witness.grant(testId);
    const late = new AbortController();
    await slowMarker({ onSignal: 'forward' })(args, { signal: late.signal });
    late.abort();
    await seen(log, testId, 'handler_signal');
    expect(told(log, testId).slice(-2)).toEqual(['handler_exited', 'handler_signal']);
  });

  it('works in a thread, and is gone when the thread is ended', async () => {
    const { log, control, testId, args } = await startHarness();
    const kit = new URL('../dist/kit/index.js', import.meta.url).href;
    const source = `
      const { workerData } = require('node:worker_threads');
      import(workerData.kit).then(({ slowMarker }) =>
        slowMarker({ onSignal: 'ignore' })(workerData.args, { signal: new AbortController().signal }));`;
    const env = { ...process.env, ...control.env };
    const thread = new Worker(source, { eval: true, env, workerData: { kit, args } });
    onTestFinished(() => void thread.terminate());
    control.open(testId, 'before_work');
    await seen(log, testId, 'worker_started');
    await thread.terminate();
    await seen(log, testId, 'handler_gone');
    await seen(log, testId, 'worker_stopped');
  });
});

function line(log: Awaited<ReturnType<typeof startHarness>>['log'], testId: string, event: AttemptEvent['event']) {
  return log.of(testId).find((one) => one.event === event);
}
