/**
 * Has never heard of estop: a tool that runs a command line. What it does about a cancel is the name given to it:
 *
 * - `kills-group` is sound: the shell and all that it started.
 * - `kills-plain` is sound: no shell and an empty environment, and the one process that was started.
 * - `leaves` gives up, and lets the command go on.
 * - `kills-shell` ends the shell, and not what the shell has started.
 * - `freezes` stops the process by SIGSTOP, which ends nothing.
 * - `runs-again` kills the group, and then runs the command once more, out of reach of the signal.
 * - `disconnects` runs another worker in the command's place, and has it lose its connection and live on.
 * - `runs-elsewhere` runs one that has another pid where it is than here, and kills it.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const inShell = (command) => spawn('/bin/sh', ['-c', `${command}; true`], { detached: true });
const plain = (command) => {
  const [file, ...args] = command.split(' ');
  return spawn(file, args, { env: {} });
};
const another = (name) => (command) => {
  const worker = fileURLToPath(new URL(`../workers/${name}.mjs`, import.meta.url));
  return spawn(process.execPath, [worker, command.split(' ').at(-1)]);
};
const killGroup = (child) => process.kill(-child.pid, 'SIGKILL');

const WAYS = {
  'kills-group': { start: inShell, cancel: killGroup },
  'kills-plain': { start: plain, cancel: (child) => child.kill('SIGTERM') },
  leaves: { start: plain, cancel: () => {} },
  'kills-shell': { start: inShell, cancel: (child) => child.kill('SIGKILL') },
  freezes: { start: plain, cancel: (child) => child.kill('SIGSTOP') },
  'runs-again': {
    start: inShell,
    cancel(child, command) {
      killGroup(child);
      child.once('exit', () => inShell(command));
    },
  },
  disconnects: { start: another('lives-on'), cancel: (child) => child.kill('SIGUSR2') },
  'runs-elsewhere': { start: another('another-pid'), cancel: (child) => child.kill('SIGKILL') },
};
const { start, cancel } = WAYS[process.argv[2]];

serveStdio(() => {
  const server = new McpServer({ name: 'runs-command', version: '1.0.0' });
  server.registerTool('run', { inputSchema: z.object({ command: z.string() }) }, ({ command }, { mcpReq }) => {
    const child = start(command);
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      said += text;
    });
    child.stderr.pipe(process.stderr);
    return new Promise((resolve, reject) => {
      mcpReq.signal.addEventListener('abort', () => {
        cancel(child, command);
        reject(mcpReq.signal.reason);
      });
      child.once('error', reject);
      child.once('close', (code) => resolve({ isError: code !== 0, content: [{ type: 'text', text: said }] }));
    });
  });
  return server;
});
