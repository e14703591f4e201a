/** A server with one call, which starts the command that it is told on stdin, and goes on until it is killed. */
import { text } from 'node:stream/consumers';
import { Engine } from '@estop/server/core';

const { command, args, cgroups } = JSON.parse(await text(process.stdin));
const engine = new Engine({ cgroups, cleanupMs: Infinity });
const call = engine.begin({ scope: 'connection:1', id: 1, method: 'tools/call', name: 'run' });
await call.run(
  () => {
    const { stdout, stderr } = call.spawn(command, args);
    stdout.resume();
    stderr.resume();
    return new Promise((_, reject) => call.onStop(reject));
  },
  { timeoutMs: Infinity },
);
