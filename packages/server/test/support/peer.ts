/**
 * The other end of a connection, frame by frame: no SDK client in between that could smooth anything over.
 *
 * Speaks each era's envelope; a frame that is written in one call of `write` is read in one turn.
 */

import type { Estop, StdioServer } from '@estop/server';
import type { McpServer, Server } from '@modelcontextprotocol/server';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { serveStdio as bareServeStdio } from '@modelcontextprotocol/server/stdio';
import { onTestFinished } from 'vitest';
import { latch, soon, turns } from './waiting.ts';

export type Era = 'legacy' | 'modern';
export const ERAS: readonly Era[] = ['legacy', 'modern'];

export interface Frame {
  readonly jsonrpc: '2.0';
  readonly id?: string | number;
  readonly method?: string;
  // biome-ignore lint/suspicious/noExplicitAny: what comes from a wire is looked at, not trusted
  readonly params?: any;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly result?: any;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly error?: any;
}

const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'peer', version: '1' },
  'io.modelcontextprotocol/logLevel': 'debug',
};

function requestFrame(era: Era, id: string | number, method: string, params: object = {}): Frame {
  if (era === 'legacy') return { jsonrpc: '2.0', id, method, params };
  const { _meta } = params as { _meta?: object };
  return { jsonrpc: '2.0', id, method, params: { ...params, _meta: { ...ENVELOPE, ..._meta } } };
}

export function cancelFrame(requestId: unknown, reason?: string): Frame {
  return { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, ...(reason && { reason }) } };
}

const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: { elicitation: {}, sampling: {}, roots: {} },
  clientInfo: { name: 'peer', version: '1' },
};

/** What a peer does, whatever it is connected by. */
export abstract class Peer {
  readonly era: Era;
  /** Every frame that came from the server, in order. */
  readonly frames: Frame[] = [];
  #heard = latch();
  #id = 1_000;

  constructor(era: Era) {
    this.era = era;
  }

  /** Writes these frames at once, with nothing in between. */
  abstract write(...frames: Frame[]): void;

  protected read(frame: Frame): void {
    this.frames.push(frame);
    this.#heard.open();
    this.#heard = latch();
  }

  async initialize(): Promise<void> {
    if (this.era === 'modern') return;
    await this.request('initialize', INITIALIZE, 'initialize');
    this.write({ jsonrpc: '2.0', method: 'notifications/initialized' });
    this.frames.length = 0;
  }

  frame(id: string | number, method: string, params?: object): Frame {
    return requestFrame(this.era, id, method, params);
  }

  callTool(id: string | number, name: string, args: object = {}, meta?: object): Frame {
    return this.frame(id, 'tools/call', { name, arguments: args, ...(meta && { _meta: meta }) });
  }

  async request(method: string, params?: object, id: string | number = this.#nextId()): Promise<Frame> {
    this.write(this.frame(id, method, params));
    return this.answer(id);
  }

  /** The answer to a request, which may have come already. */
  answer(id: string | number): Promise<Frame> {
    return this.frameThat(
      `the answer to ${JSON.stringify(id)}`,
      (frame) => frame.method === undefined && frame.id === id,
    );
  }

  async frameThat(what: string, matches: (frame: Frame) => boolean): Promise<Frame> {
    for (;;) {
      const found = this.frames.find(matches);
      if (found !== undefined) return found;
      await soon(this.#heard.promise, what);
    }
  }

  /**
   * Resolves when all that the server will write by itself is there: what it does on the way was done, and a request
   * that was written after everything else has been answered.
   */
  async fence(): Promise<void> {
    await turns();
    await this.request('tools/list');
    await turns();
  }

  /** What was written for this id, or as progress for this token. */
  about(id: string | number): Frame[] {
    return this.frames.filter(
      (frame) => (frame.method === undefined && frame.id === id) || frame.params?.progressToken === id,
    );
  }

  #nextId(): number {
    this.#id += 1;
    return this.#id;
  }
}

export class MemoryPeer extends Peer {
  readonly #transport: InMemoryTransport;

  constructor(era: Era, transport: InMemoryTransport) {
    super(era);
    this.#transport = transport;
    transport.onmessage = (message) => this.read(message as Frame);
  }

  write(...frames: Frame[]): void {
    for (const frame of frames) void this.#transport.send(frame as never);
  }

  hangUp(): Promise<void> {
    return this.#transport.close();
  }

  /** From now on the server's writing of such a frame fails. */
  failAt(matches: (frame: Frame) => boolean, error: Error): void {
    this.#transport.onmessage = (message) => {
      if (matches(message as Frame)) throw error;
      this.read(message as Frame);
    };
  }
}

export type SomeServer = McpServer | Server;

/** A server that is connected by hand, as `server.connect(transport)` does: the legacy era. */
export async function connectByHand(server: SomeServer): Promise<MemoryPeer> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const peer = new MemoryPeer('legacy', ours);
  onTestFinished(() => peer.hangUp());
  await server.connect(theirs);
  await peer.initialize();
  return peer;
}

type Factory = (serving?: { readonly era: Era }) => SomeServer;

export interface Served {
  readonly peer: MemoryPeer;
  readonly served: StdioServer;
}

/** A factory's server behind `estop.serveStdio`, in memory: either era. */
export async function serveProtected(era: Era, estop: Estop, factory: Factory): Promise<Served> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const peer = new MemoryPeer(era, ours);
  const served = await estop.serveStdio(factory, { transport: theirs });
  onTestFinished(() => served.close());
  await peer.initialize();
  return { peer, served };
}

/** The same without estop. */
export async function serveBare(era: Era, factory: () => SomeServer): Promise<MemoryPeer> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const peer = new MemoryPeer(era, ours);
  const served = bareServeStdio(factory, { transport: theirs });
  onTestFinished(() => served.close());
  await peer.initialize();
  return peer;
}
