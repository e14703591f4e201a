import { describe, expect, it, onTestFinished } from 'vitest';
import type { RunLine } from '../src/probe/events.ts';
import type { Log } from '../src/probe/log.ts';
import { ProbeFailure } from '../src/probe/result.ts';
import { createCapture, newTestId } from '../src/probe/subject/capture.ts';
import type { PipeTransport } from '../src/probe/subject/pipes.ts';
import { startSubject } from '../src/probe/subject/subject.ts';
import { tempLog } from './probe-fixture.ts';

/** Starts a Node script as a subject. Each frame that it is sent is one line of its stdin. */
async function start(script: string, command = [process.execPath, '-e', script]) {
  const log = tempLog();
  const capture = createCapture(log);
  const subject = await startSubject({ command, env: { GIVEN: 'yes' }, era: 'legacy', log, capture });
  onTestFinished(() => subject.stop());
  const transport = subject.endpoint as PipeTransport;
  const received: unknown[] = [];
  let wake = () => {};
  transport.onmessage = (message: unknown) => {
    received.push(message);
    wake();
  };
  const messages = async (count: number) => {
    while (received.length < count) await new Promise<void>((resolve) => (wake = resolve));
    return received;
  };
  await transport.start();
  return { log, capture, subject, transport, messages };
}

const linesOf = (log: Log, event: RunLine['event']) => log.lines.filter((line) => line.event === event);

const ECHO = `process.stdin.on('data', (data) => process.stdout.write(data));`;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('a subject', () => {
  it('is a failure of the run, in one sentence, when there is no such command', async () => {
    const starting = start('', ['estop-no-such-command', 'x']);
    await expect(starting).rejects.toThrow('estop probe: cannot start "estop-no-such-command": no such command');
    await expect(starting).rejects.toBeInstanceOf(ProbeFailure);
  });

  it('has the environment that was given, besides our own', async () => {
    const { messages } = await start(`console.log(JSON.stringify([process.env.GIVEN, !!process.env.PATH]))`);
    expect(await messages(1)).toEqual([['yes', true]]);
  });

  it('exchanges frames, whatever the chunks that they come in', async () => {
    const { messages, transport } = await start(ECHO);
    const big = { text: 'ä€😀'.repeat(200_000) };
    await transport.send(big);
    await transport.send({ n: 2 });
    expect(await messages(2)).toEqual([big, { n: 2 }]);
  });

  it('shows each frame to the capture before it goes on', async () => {
    const reply = JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} });
    const { log, capture, transport } = await start(`process.stdin.once('data', () => console.log('${reply}'))`);
    const testId = newTestId();
    capture.expect(testId);
    const loggedByThen = new Promise<number>((resolve) => {
      transport.onmessage = () => resolve(log.of(testId).length);
    });
    await transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { testId } });
    expect(await loggedByThen).toBe(2);
    expect(log.of(testId)).toMatchObject([{ direction: 'to-server' }, { direction: 'to-client' }]);
  });

  it('may print what is no frame: it is logged, kept for the error, and the connection lives on', async () => {
    const { log, subject, messages, transport } = await start(`
      console.log('Server listening on stdio ' + 'x'.repeat(1000)); console.log(''); console.log('7');
      ${ECHO}`);
    await transport.send({ n: 1 });
    expect(await messages(1)).toEqual([{ n: 1 }]);
    expect(linesOf(log, 'not_json')).toMatchObject([{ text: expect.stringMatching(/^Server.{194}$/) }, { text: '7' }]);
    expect(subject.garbage).toMatch(/^Server listening/);
  });

  it('may write an endless line: it is cut, and the next one is read', async () => {
    const { log, messages } = await start(`process.stdout.write('{' + 'x'.repeat(12e6) + '\\n{"n":1}\\n')`);
    expect(await messages(1)).toEqual([{ n: 1 }]);
    expect(linesOf(log, 'not_json')).toHaveLength(1);
  });

  it('has its stderr logged within bounds, and the end of it kept', async () => {
    const { log, subject } = await start(`for (let n = 0; n < 80; n++) console.error('line ' + n + 'x'.repeat(300))`);
    await subject.exited;
    await subject.stop();
    const logged = linesOf(log, 'subject_stderr');
    expect(logged).toHaveLength(50);
    expect(logged[0]).toMatchObject({ source: 'harness', text: `line 0${'x'.repeat(194)}` });
    expect(subject.stderrTail).toHaveLength(2_048);
    expect(subject.stderrTail).toContain('line 79');
  });

  it('says how it ended when it ends by itself', async () => {
    const { log, subject, transport } = await start(`process.exit(7)`);
    const closed = new Promise<void>((resolve) => (transport.onclose = resolve));
    expect(await subject.exited).toEqual({ code: 7, signal: null });
    expect(subject.alive).toBe(false);
    await closed;
    expect(linesOf(log, 'subject_exited')).toMatchObject([{ pid: subject.pid, code: 7, expected: false }]);
    for (let n = 0; n < 3; n++) await transport.send({ n }).catch(() => {});
  });
});

describe('stopping a subject', () => {
  it('takes no signal when it ends with its stdin', async () => {
    const { log, subject } = await start(`process.stdin.resume()`);
    await Promise.all([subject.stop(), subject.stop()]);
    expect(await subject.exited).toEqual({ code: 0, signal: null });
    expect(linesOf(log, 'subject_exited')).toMatchObject([{ expected: true }]);
  });

  it('kills one that traps SIGTERM', async () => {
    const { subject, messages } = await start(
      `process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6); console.log('{}')`,
    );
    await messages(1);
    await subject.stop();
    expect(await subject.exited).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('leaves nothing of its group: a child that outlives it dies too', async () => {
    const { subject, messages } = await start(`
      const child = require('child_process').spawn('sleep', ['600'], { stdio: 'inherit' });
      console.log(JSON.stringify({ pid: child.pid }));
      process.stdin.on('end', () => process.exit(0)).resume();`);
    const [{ pid }] = (await messages(1)) as [{ pid: number }];
    await subject.stop();
    expect(await subject.exited).toEqual({ code: 0, signal: null });
    await gone(pid);
  });

  it('closes the transport, also when a child outside the group holds the pipes', async () => {
    const { subject, messages, transport } = await start(`
      const child = require('child_process').spawn('sleep', ['600'], { stdio: 'inherit', detached: true });
      console.log(JSON.stringify({ pid: child.pid }));
      process.stdin.on('end', () => process.exit(0)).resume();`);
    const [{ pid }] = (await messages(1)) as [{ pid: number }];
    onTestFinished(() => void process.kill(pid, 'SIGKILL'));
    const closed = new Promise<void>((resolve) => (transport.onclose = resolve));
    await subject.stop();
    await closed;
  });

  it('can be done at once, without a wait', async () => {
    const { log, subject } = await start(`setInterval(() => {}, 1e6)`);
    subject.killNow();
    expect(await subject.exited).toEqual({ code: null, signal: 'SIGKILL' });
    expect(linesOf(log, 'subject_exited')).toMatchObject([{ expected: true }]);
  });
});

/** A killed orphan is a zombie until whoever adopted it has reaped it. */
async function gone(pid: number): Promise<void> {
  const { readFileSync } = await import('node:fs');
  for (let n = 0; n < 500; n++) {
    if (!isAlive(pid)) return;
    try {
      if (/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))) return;
    } catch {
      // Gone, or no /proc here.
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`${pid} is still alive`);
}
