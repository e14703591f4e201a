/**
 * Protected calls in memory, one in ten of them cancelled at a random moment: what is left of them afterwards.
 * Arguments: protected.
 *
 * The heap is measured after a tenth of the calls and after the last one. The same calls each time, but not in the
 * same order: chance comes from a fixed seed, the order of what runs at once does not.
 */
import { getEventListeners } from 'node:events';
import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { answerRounds, heapUsed } from './answering.ts';
import { connect } from './in-memory.ts';
import { loadEstop } from './protection.ts';

export interface Soaked {
  readonly growthBytes: number;
  readonly left: Readonly<Record<'inFlight' | 'timers' | 'listeners' | 'abandoned', number>>;
}

const AT_ONCE = 32;
/** Signals whose listeners are counted: the last ones that were looked at, so that they take the same heap each time. */
const SAMPLED = 100;

const estop = await loadEstop();
const server = estop.protect(new McpServer({ name: 'bench', version: '1.0.0' }));
const sampled: AbortSignal[] = [];
let fired = 0;
let seed = 2463534242;

/** The ways of a handler: done at once, without a look at its signal; deaf for a turn; listening for a turn. */
const WAYS = ['quick', 'deaf', 'listening'] as const;

server.registerTool('work', { inputSchema: z.object({ way: z.enum(WAYS) }) }, async ({ way }, { mcpReq }) => {
  if (way === 'deaf') await turn();
  if (way === 'listening') await listening(mcpReq.signal);
  return { content: [] };
});
const client = await connect(server);

answerRounds(async (count): Promise<Soaked> => {
  const timersBefore = timers();
  const listenersBefore = listeners();
  await calls(count / 10);
  const before = await heapUsed();
  await calls(count - count / 10);
  const growthBytes = (await heapUsed()) - before;
  if (fired < count / 100) throw new Error(`only ${fired} signals fired in ${count} calls: no soak with cancels`);
  const { inFlight, abandoned } = estop.stats();
  const left = { inFlight, abandoned, timers: timers() - timersBefore, listeners: listeners() - listenersBefore };
  return { growthBytes, left };
});

async function calls(count: number): Promise<void> {
  let begun = 0;
  const line = async (): Promise<void> => {
    while (begun < count) {
      begun += 1;
      await callOnce();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, line));
}

/** One in ten is cancelled: in the turn of the call, a microtask later, or a turn later, when it may be over. */
async function callOnce(): Promise<void> {
  const params = { name: 'work', arguments: { way: WAYS[random(3)] } };
  if (random(10) > 0) {
    await client.callTool(params);
    return;
  }
  const caller = new AbortController();
  const ended = client.callTool(params, { signal: caller.signal }).catch((error: unknown) => {
    if (!caller.signal.aborted) throw error;
  });
  const moment = random(3);
  if (moment === 1) await null;
  if (moment === 2) await turn();
  caller.abort();
  await ended;
}

async function listening(signal: AbortSignal): Promise<void> {
  if (sampled.push(signal) > SAMPLED) sampled.shift();
  const onAbort = (): void => {
    fired += 1;
  };
  signal.addEventListener('abort', onAbort, { once: true });
  await turn();
  signal.removeEventListener('abort', onAbort);
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
}

function listeners(): number {
  const onProcess = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
  return sampled.reduce((sum, signal) => sum + getEventListeners(signal, 'abort').length, onProcess);
}

/** A whole number below `below`: xorshift32. */
function random(below: number): number {
  seed ^= seed << 13;
  seed ^= seed >>> 17;
  seed ^= seed << 5;
  return (seed >>> 0) % below;
}
