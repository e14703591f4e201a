/** A command at the witness: its worker is a process, and stops only when its connection and its process are gone. */
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startWitness, type Witness } from '../dist/probe/witness/witness.js';
import { newTestId } from '../src/probe/subject/capture.ts';
import { inShell } from '../src/probe/witness/command-line.ts';
import { events, seen, send, statusOf, tempDir, tempLog, WAIT_MS } from './probe-fixture.ts';

const WORKER = fileURLToPath(new URL('../dist/probe/witness/command.js', import.meta.url));
const LIVES_ON = fileURLToPath(new URL('./broken/workers/lives-on.mjs', import.meta.url));

async function start({ hold = false } = {}) {
  const log = tempLog();
  const witness = await startWitness({ log, markers: tempDir() });
  onTestFinished(() => witness.close());
  const testId = newTestId();
  witness.arm(testId, { hold });
  return { log, witness, testId };
}

/** Started and never left behind; without an environment, as some servers start their commands. */
function run(file: string, args: readonly string[] = []): ChildProcessWithoutNullStreams {
  const child = spawn(file, args, { env: {} });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** The command, split on spaces; as the witness has seen it start. */
async function command({ log, witness, testId }: Awaited<ReturnType<typeof start>>, job = 1) {
  const [file = '', ...args] = witness.command(testId).split(' ');
  const child = run(file, args);
  await seen(log, testId, 'worker_started', job);
  return child;
}

const ended = async (child: ChildProcessWithoutNullStreams) => {
  const [[code, signal], stdout, stderr] = await Promise.all([
    once(child, 'close'),
    text(child.stdout),
    text(child.stderr),
  ]);
  return { code, signal, stdout, stderr };
};

const states = async (witness: Witness, testId: string) =>
  (await witness.readState(testId, WAIT_MS))?.map(({ job, state }) => `${job} ${state}`);

const workerEvents = (...of: Parameters<typeof events>): string[] =>
  events(...of).filter((event) => event.startsWith('worker_') && event !== 'worker_state');

describe('a command', () => {
  it('waits until it is granted, prints a word and exits with 0; its marker is there by then', async () => {
    const started = await start();
    const { log, witness, testId } = started;
    const child = await command(started);
    expect(await states(witness, testId)).toEqual(['1 waiting']);
    expect(log.of(testId)[0]).toMatchObject({
      source: 'witness',
      by: 'command',
      pid: child.pid,
      startTime: expect.stringMatching(/^\d+$/),
    });
    witness.grant(testId);
    expect(await ended(child)).toEqual({ code: 0, signal: null, stdout: 'committed\n', stderr: '' });
    expect(witness.readMarker(testId)).toEqual({ exists: true, lines: 1 });
    expect(workerEvents(log, testId)).toEqual(['worker_started', 'worker_granted', 'worker_committed']);
  });

  it('works in a shell as well', async () => {
    const { witness, testId } = await start();
    witness.grant(testId);
    const child = run('/bin/sh', ['-c', `${witness.command(testId)} && echo 'and on'`]);
    expect(await ended(child)).toMatchObject({ code: 0, stdout: 'committed\nand on\n' });
  });

  it('is held after its commit until it is released', async () => {
    const started = await start({ hold: true });
    const { log, witness, testId } = started;
    const child = await command(started);
    witness.grant(testId);
    await seen(log, testId, 'worker_committed');
    expect(await states(witness, testId)).toEqual(['1 committed']);
    expect(child.exitCode).toBeNull();
    witness.release(testId);
    expect(await ended(child)).toMatchObject({ code: 0 });
    expect(events(log, testId)).not.toContain('worker_closed_after_grant');
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGKILL'] as const)('stops by %s, for good', async (signal) => {
    const started = await start();
    const { log, witness, testId } = started;
    const child = await command(started);
    child.kill(signal);
    await seen(log, testId, 'worker_stopped');
    witness.grant(testId);
    expect(await states(witness, testId)).toEqual(['1 stopped']);
    expect(witness.readMarker(testId)).toEqual({ exists: false, lines: 0 });
    expect(workerEvents(log, testId)).toEqual(['worker_started', 'worker_disconnected', 'worker_stopped']);
    expect(child.signalCode ?? (await once(child, 'exit'))[1]).toBe(signal);
  });

  it('has stopped when it is a zombie that nobody has waited for', async () => {
    const { log, witness, testId } = await start();
    // The shell becomes a program that knows of no child.
    const parent = run('/bin/sh', ['-c', `${witness.command(testId)} & exec cat`]);
    await seen(log, testId, 'worker_started');
    const pid = workerPid(log, testId);
    process.kill(pid, 'SIGKILL');
    await seen(log, testId, 'worker_stopped');
    expect(execFileSync('/bin/cat', [`/proc/${pid}/stat`], { encoding: 'utf8' })).toContain(') Z ');
    expect(parent.exitCode).toBeNull();
  });

  it('has not stopped while it is frozen, and commits when it is granted', async () => {
    const started = await start();
    const { log, witness, testId } = started;
    const child = await command(started);
    child.kill('SIGSTOP');
    expect(await states(witness, testId)).toEqual(['1 waiting']);
    witness.grant(testId);
    await seen(log, testId, 'worker_committed');
    expect(workerEvents(log, testId)).toEqual(['worker_started', 'worker_granted', 'worker_committed']);
    child.kill('SIGCONT');
    expect(await ended(child)).toMatchObject({ code: 0 });
  });

  it('is not said to have stopped when it ends after its grant', async () => {
    const started = await start({ hold: true });
    const { log, witness, testId } = started;
    const child = await command(started);
    witness.grant(testId);
    await seen(log, testId, 'worker_committed');
    child.kill('SIGKILL');
    await seen(log, testId, 'worker_closed_after_grant');
    expect(await states(witness, testId)).toEqual(['1 committed']);
    expect(events(log, testId)).not.toContain('worker_disconnected');
  });

  it('that is started again is a second job, which commits also when it comes after the grant', async () => {
    const started = await start();
    const { log, witness, testId } = started;
    (await command(started)).kill('SIGKILL');
    await seen(log, testId, 'worker_stopped');
    witness.grant(testId);
    expect(await ended(await command(started, 2))).toMatchObject({ code: 0 });
    expect(await states(witness, testId)).toEqual(['1 stopped', '2 committed']);
  });

  it('that lost its connection and lives on has not stopped and is not granted, until its process is gone', async () => {
    const { log, witness, testId } = await start();
    const child = run(process.execPath, [LIVES_ON, witness.url(testId)]);
    await seen(log, testId, 'worker_started');
    child.kill('SIGUSR2');
    await seen(log, testId, 'worker_disconnected');
    witness.grant(testId);
    expect(await states(witness, testId)).toEqual(['1 waiting']);
    expect(witness.readMarker(testId)).toEqual({ exists: false, lines: 0 });
    expect(workerEvents(log, testId)).toEqual(['worker_started', 'worker_disconnected']);
    child.kill('SIGKILL');
    await seen(log, testId, 'worker_stopped');
    expect(await states(witness, testId)).toEqual(['1 stopped']);
  });

  it('that names a pid which is not its own is granted as any, and never said to have stopped', async () => {
    const { log, witness, testId } = await start();
    // As from another PID namespace: there is such a process here, and it is another one.
    const other = run('/bin/cat');
    const name = () => send(`${witness.url(testId)}/command/${other.pid}`);
    const lost = name();
    await seen(log, testId, 'worker_started');
    const stays = name();
    await seen(log, testId, 'worker_started', 2);
    lost.socket.destroy();
    await seen(log, testId, 'worker_disconnected');
    other.kill('SIGKILL');
    await once(other, 'exit');
    witness.grant(testId);
    expect(statusOf(await stays.answer(/committed/))).toBe(200);
    expect(await states(witness, testId)).toEqual(['1 waiting', '2 committed']);
    expect(events(log, testId)).not.toContain('worker_stopped');
    expect(log.of(testId)[0]).toMatchObject({ pid: other.pid, unchecked: expect.stringContaining('PID namespace') });
  });

  it.each(['0', '-1', '1.5', 'x', '99999999999', ''])('cannot name %j as its pid', async (pid) => {
    const { witness, testId } = await start();
    expect(statusOf(await send(`${witness.url(testId)}/command/${pid}`).answer())).toBe(404);
    expect(await states(witness, testId)).toEqual([]);
  });
});

describe('the worker', () => {
  /** A witness that can lose a worker's connection and still be there. */
  async function losing() {
    const sockets = new Set<Socket>();
    const server = createServer();
    server.on('connection', (socket) => sockets.add(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const close = async () => {
      if (!server.listening) return;
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    };
    onTestFinished(close);
    const child = run(process.execPath, [WORKER, `http://127.0.0.1:${(server.address() as AddressInfo).port}/jobs/t`]);
    const [req] = await once(server, 'request');
    return { server, close, child, req };
  }

  it('does not end because its connection did; it ends when its witness is gone', async () => {
    const { server, close, child, req } = await losing();
    expect(req).toMatchObject({ method: 'POST', url: `/jobs/t/command/${child.pid}` });
    req.socket.destroy();
    // It looks whether the witness is there, and looks again: it has outlived the first look.
    await once(server, 'connection');
    await once(server, 'connection');
    expect(child.exitCode).toBeNull();
    await close();
    expect(await ended(child)).toMatchObject({ code: 1, stderr: /^estop: the witness cannot be reached: .+\n$/ });
  });

  it('that is refused says so, and fails', async () => {
    const { witness } = await start();
    const child = run(process.execPath, [WORKER, witness.url('t-unknown')]);
    expect(await ended(child)).toEqual({ code: 1, signal: null, stdout: '', stderr: 'estop: refused (404)\n' });
  });
});

describe('a command line', () => {
  it('has no quotes where none are needed', () => {
    const words = ['/usr/bin/node', '/a-b/c_d.js', 'http://127.0.0.1:80/jobs/0a/t-1'];
    expect(inShell(words)).toBe(words.join(' '));
  });

  it('comes out of a shell as it went in', () => {
    const words = ['/bin/echo', 'a b', "it's", '$HOME', '`x`', '"', '\\', '*', ';', ''];
    expect(execFileSync('/bin/sh', ['-c', inShell(words)], { encoding: 'utf8' })).toBe(`${words.slice(1).join(' ')}\n`);
  });
});

function workerPid(log: ReturnType<typeof tempLog>, testId: string): number {
  const line = log.of(testId).find(({ event }) => event === 'worker_started');
  if (line?.event !== 'worker_started' || line.by !== 'command') throw new Error('no command has started');
  return line.pid;
}
