/**
 * A tool that runs a command, and one that never ends: its caller gives up, and nothing of it runs any more. Beside it
 * the tool as it is mostly written, whose shell ends, and nothing else.
 *
 *     npm run build && node examples/dist/facade/command.js
 */
import { exec } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createMcpServer } from '@estop/server';
import { isMain, type Say, say, stopOf } from './parts/main.ts';
import { killRunning, programs, untilRunning } from './parts/processes.ts';
import { soon } from './parts/soon.ts';

/** @param folder an empty one: its path is what the processes are known by */
export async function demonstrate(folder: string, say: Say): Promise<void> {
  const app = createMcpServer({ name: 'shell' });

  app.tool({
    name: 'run_command',
    description: 'What a command line writes',
    handler: async ({ line }: { line: string }, context) => {
      const { code, stdout, stderr } = await context.spawn('sh', ['-c', line]).output();
      if (code !== 0) throw new Error(stderr.trim());
      return stdout.trim();
    },
  });

  app.tool({
    name: 'run_command_naively',
    description: 'The same, without estop: the signal ends the shell, and the shell alone',
    handler: async ({ line }: { line: string }, context) => {
      const { stdout } = await promisify(exec)(line, { signal: context.signal });
      return stdout.trim();
    },
  });

  const log = join(folder, 'app.log');
  const copy = join(folder, 'copy.log');
  writeFileSync(log, 'up\n');
  say(`call:    a command that ends: ${await app.callTool('run_command', { line: `tail -n 1 ${log} | tee ${copy}` })}`);

  /** A shell with two programs in its pipe, which go on for as long as they are let. */
  const follow = async (tool: string): Promise<string> => {
    const caller = new AbortController();
    const stop = stopOf(app.callTool(tool, { line: `tail -f ${log} | tee ${copy}` }, { signal: caller.signal }));
    await soon(untilRunning(folder, ['sh', 'tail', 'tee']), 'the shell and its two programs run');
    caller.abort(new Error('its caller gave up'));
    return (await stop).message;
  };

  const left = await follow('run_command_naively');
  await soon(untilRunning(folder, ['tail', 'tee']), 'the shell has ended, and nothing else');
  say(`leak:    one that does not, naively: ${left}; the shell has ended, ${programs(folder).join(' and ')} run on`);
  killRunning(folder);
  await soon(untilRunning(folder, []), 'they are ended by hand');

  say(`stop:    the same one: ${await follow('run_command')}`);
  await soon(untilRunning(folder, []), 'the command ends, and all that it has started');
  say(`stopped: the command and all that it started; of its processes ${programs(folder).length} run`);
  await app.stop();
}

if (isMain(import.meta)) {
  const folder = mkdtempSync(join(tmpdir(), 'estop-command-'));
  try {
    await demonstrate(folder, say);
  } finally {
    killRunning(folder);
    rmSync(folder, { recursive: true });
  }
}
