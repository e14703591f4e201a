/**
 * A server whose tools start processes, on real stdio. `CGROUPS=off` has it do without control groups; `LISTENS` says
 * who else listens for SIGTERM.
 *
 * The `sh shapes.sh SHAPE MARK` of a call is seen by its mark, from outside; nothing is said of it here.
 */
import { fileURLToPath } from 'node:url';
import { createEstop } from '@estop/server';
import * as z from 'zod';
import { McpServer, requestOf } from './sdk.mjs';

const SCRIPT = fileURLToPath(new URL('./shapes.sh', import.meta.url));
const text = (text) => ({ content: [{ type: 'text', text }] });
const say = (text) => process.stderr.write(`${text}\n`);
const shape = { inputSchema: z.object({ shape: z.string(), mark: z.string() }) };

const estop = createEstop({
  graceMs: Number(process.env.GRACE_MS ?? 200),
  termMs: Number(process.env.TERM_MS ?? 200),
  cgroups: process.env.CGROUPS !== 'off',
});

function server() {
  const server = new McpServer({ name: 'work', version: '1' });
  const start = ({ shape, mark }, ctx) => estop.call(ctx).spawn('sh', [SCRIPT, shape, mark]);
  const hold = async (args, ctx) => {
    const { code, signal } = await start(args, ctx).exited;
    return text(`ended: ${code ?? signal}`);
  };
  server.registerTool('hold', shape, hold);
  server.registerTool('brief', shape, hold);
  // Leaves what it has started behind.
  server.registerTool('leave', shape, async (args, ctx) => {
    start(args, ctx);
    return text('left');
  });
  server.registerTool('detach', { inputSchema: z.object({ mark: z.string() }) }, async ({ mark }, ctx) => {
    estop.call(ctx).spawn('sleep', [mark], { detach: true });
    return text('detached');
  });
  server.registerTool('deaf', {}, (ctx) => {
    const { signal } = requestOf(ctx);
    signal.addEventListener('abort', () => say(`heard, and goes on: ${signal.reason.kind}`));
    say('deaf');
    return new Promise(() => {});
  });
  server.registerTool('big', { inputSchema: z.object({ bytes: z.number() }) }, async ({ bytes }) => {
    setImmediate(() => say('answered'));
    return text('x'.repeat(bytes));
  });
  server.registerTool('throw', {}, () => {
    setImmediate(() => {
      throw new Error('nobody catches this');
    });
    return new Promise(() => {});
  });
  server.registerTool('exit', {}, () => process.exit(3));
  server.registerTool('close', {}, () => {
    setImmediate(async () => {
      await served.close();
      say(`listeners left: ${listeners() - before}`);
    });
    return text('closing');
  });
  server.registerTool('spin', {}, () => {
    say('spinning');
    for (;;);
  });
  return estop.protect(server, { tools: { brief: { timeoutMs: 100 } } });
}

const listeners = () => process.listenerCount('SIGTERM') + process.listenerCount('SIGINT');

if (process.env.LISTENS === 'own') process.on('SIGTERM', () => say('own listener'));
if (process.env.LISTENS === 'signal-exit') {
  // As that package does: it leaves the signal to whoever else listens, and raises it again when it is alone.
  const emitter = { count: 1 };
  Object.defineProperty(globalThis, Symbol.for('signal-exit emitter'), { value: emitter });
  const tidy = () => {
    if (process.listenerCount('SIGTERM') !== emitter.count) return;
    process.off('SIGTERM', tidy);
    say('tidied up');
    process.kill(process.pid, 'SIGTERM');
  };
  process.on('SIGTERM', tidy);
}

const before = listeners();
const served = await estop.serveStdio(server);
