/**
 * What the sides over stdio call. Arguments: bare | protected.
 *
 * `wait` tells on stderr, which is no part of the protocol, when it has started and when its signal fired, in ns of the
 * clock that all processes of a machine share.
 */
import { writeSync } from 'node:fs';
import { serve } from './protection.ts';
import { addEcho } from './tools.ts';

await serve((server) => {
  addEcho(server);
  server.registerTool('wait', {}, async ({ mcpReq: { signal } }) => {
    const fired = await new Promise<bigint>((resolve) => {
      signal.addEventListener('abort', () => resolve(process.hrtime.bigint()), { once: true });
      writeSync(process.stderr.fd, 'started\n');
    });
    writeSync(process.stderr.fd, `fired ${fired}\n`);
    return { content: [] };
  });
});
