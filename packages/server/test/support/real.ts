/** An engine on real time, for work that is real: commands, and what they start. Nothing of them outlives the test. */
import { readFileSync } from 'node:fs';
import { type Call, type Child, cancelled, Engine, type EngineOptions } from '@estop/server/core';
import { onTestFinished } from 'vitest';
import { latch, soon } from './waiting.ts';

interface Started {
  readonly call: Call;
  readonly child: Child;
  /** What the handler ended with; its rejection is handled. */
  readonly answered: Promise<unknown>;
  /** Waits until the call is over, and out of the registry. */
  readonly left: () => Promise<void>;
  /** Has the handler return. */
  readonly returns: () => void;
}

export interface Real {
  readonly engine: Engine;
  /** A call that runs, and whose handler waits for the test. */
  begin(name?: string): Omit<Started, 'child'>;
  /** The same, with a command that belongs to it. */
  spawn(...command: Parameters<Call['spawn']>): Started;
  /** The same, of a shell's line. */
  shell(line: string): Started;
}

export function real(options: EngineOptions = {}): Real {
  const engine = new Engine({ graceMs: 0, cleanupMs: Infinity, ...options });
  let id = 0;
  onTestFinished(async () => {
    for (const call of engine.registry.calls()) call.stop(cancelled('library'));
    await soon(engine.close(), 'the engine closes');
  });
  const begin: Real['begin'] = (name = 'run') => {
    id += 1;
    const left = latch();
    const handler = latch();
    const owner = { left: () => left.open() };
    const call = engine.begin({ scope: 'connection:1', id, method: 'tools/call', name, owner });
    const answered = call.run(() => handler.promise, { timeoutMs: Infinity });
    answered.catch(() => {});
    return { call, answered, left: () => soon(left.promise, 'the call leaves'), returns: () => handler.open() };
  };
  const spawn: Real['spawn'] = (...command) => {
    const begun = begin();
    return { ...begun, child: begun.call.spawn(...command) };
  };
  return { engine, begin, spawn, shell: (line) => spawn('sh', ['-c', line]) };
}

/** Resolves when the command has written that; what it writes later is read, and lost. */
export function says({ stdout }: Child, text: string): Promise<void> {
  let said = '';
  return soon(
    new Promise((resolve) => {
      stdout.setEncoding('utf8').on('data', (chunk: string) => {
        said += chunk;
        if (said.includes(text)) resolve();
      });
    }),
    `the command says ${JSON.stringify(text)}`,
  );
}

/** Whether there is a process with that pid which has not ended; a zombie has. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
