/**
 * A server on real stdio. What its handlers see they say on stderr, which outlives the connection; what they count they
 * tell by a tool, so that no two pipes have to be put in order.
 */
import { createEstop } from '@estop/server';
import * as z from 'zod';
import { McpServer, requestOf } from './sdk.mjs';

const say = (text) => process.stderr.write(`${text}\n`);
const text = (text) => ({ content: [{ type: 'text', text }] });
const starts = [];
const started = (ctx) => {
  starts.push(requestOf(ctx).id);
  say(`started ${JSON.stringify(requestOf(ctx).id)}`);
};
const forEver = () => new Promise(() => setInterval(() => {}, 1_000));

const estop = createEstop({ graceMs: Number(process.env.GRACE_MS ?? 300) });

function server() {
  const server = new McpServer({ name: 'stdio', version: '1' });
  server.registerTool('hold', {}, async (ctx) => {
    started(ctx);
    const { signal, id } = requestOf(ctx);
    const alive = setInterval(() => {}, 1_000);
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    clearInterval(alive);
    say(`stopped ${JSON.stringify(id)}: ${signal.reason.kind}`);
    return text('too late');
  });
  server.registerTool('cleans-up', {}, async (ctx) => {
    started(ctx);
    const { signal } = requestOf(ctx);
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
    say('cleaned up');
    return text('too late');
  });
  server.registerTool('deaf', {}, (ctx) => {
    started(ctx);
    requestOf(ctx).signal.addEventListener('abort', () =>
      say(`heard, and goes on: ${requestOf(ctx).signal.reason.kind}`),
    );
    return forEver();
  });
  server.registerTool(
    'isolated',
    { inputSchema: z.object({ export: z.string() }).loose() },
    estop.isolated({ kind: 'thread', module: new URL('./stdio-tools.mjs', import.meta.url), export: 'spin' }),
  );
  server.registerTool('starts', {}, async () => text(JSON.stringify(starts)));
  server.registerTool('big', { inputSchema: z.object({ bytes: z.number() }) }, async ({ bytes }) => {
    setImmediate(() => say('answered'));
    return text('x'.repeat(bytes));
  });
  return server;
}

await estop.serveStdio(server);
