/** A protected server on virtual time whose handlers wait for the test, and a peer at its other end. */
import { createEstop, type Estop, type EstopOptions, type ProtectOptions } from '@estop/server';
import { onTestFinished } from 'vitest';
import { type Held, HeldServer } from './held-server.ts';
import type { Major } from './majors.ts';
import { connectByHand, type Era, type Frame, type MemoryPeer, serveProtected } from './peer.ts';
import { GRACE_MS } from './rig.ts';
import { VirtualClock } from './virtual-clock.ts';
import { soon, turns } from './waiting.ts';

export interface World {
  readonly clock: VirtualClock;
  readonly estop: Estop;
  readonly held: HeldServer;
  readonly peer: MemoryPeer;
  /** Calls a tool under this id, and waits until its handler has been started. */
  start(id: number, name?: string): Promise<Held>;
  /** The text, the outcome or the error of an answer. */
  answer(id: number): Promise<Frame>;
}

export interface WorldOptions {
  readonly major?: Major;
  readonly era?: Era;
  readonly estop?: EstopOptions;
  readonly protect?: ProtectOptions;
  /** More tools whose handlers wait for the test. */
  readonly tools?: readonly string[];
  /** The server, before it is protected and connected. */
  readonly prepare?: (held: HeldServer) => void;
  /** Another server of an engine that is there. */
  readonly beside?: World;
}

export async function world(options: WorldOptions = {}): Promise<World> {
  const { era = 'legacy', major = 'v2', tools = [], beside } = options;
  const clock = beside?.clock ?? new VirtualClock();
  const estop = beside?.estop ?? createEstop({ clock, graceMs: GRACE_MS, cleanupMs: Infinity, ...options.estop });
  const held = new HeldServer(major);
  for (const name of tools) held.server.registerTool(name, {}, (ctx) => held.hold(ctx) as never);
  options.prepare?.(held);
  estop.protect(held.server, options.protect);
  const peer =
    era === 'legacy' ? await connectByHand(held.server) : (await serveProtected(era, estop, () => held.server)).peer;
  // The first request pins a served connection's era.
  await peer.request('tools/list');
  onTestFinished(() => held.releaseAll());
  return {
    clock,
    estop,
    held,
    peer,
    start(id, name = 'hold') {
      peer.write(peer.callTool(id, name, {}, { progressToken: id }));
      return held.handlerStarted(id);
    },
    answer: (id) => peer.answer(id),
  };
}

/** The signal of a call, once it has fired. */
export async function aborted(signal: AbortSignal): Promise<AbortSignal> {
  const fired = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await soon(fired, 'the signal fires');
  return signal;
}

/** Waits until so many calls wait for room: those that were only read count too, so the SDK is given time for them. */
export async function queued(estop: Estop, count: number): Promise<void> {
  await turns();
  for (let turn = 0; turn < 1_000 && estop.stats().queued !== count; turn += 1) await turns();
  if (estop.stats().queued !== count) throw new Error(`${estop.stats().queued} calls wait, not ${count}`);
}
