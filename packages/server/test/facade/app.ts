/** A façade on virtual time, real SDK clients on it, and handlers that wait for the test. */
import { createMcpServer, type McpApp, type McpServerOptions, type ToolContext } from '@estop/server';
import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { onTestFinished } from 'vitest';
import type { Era } from '../support/peer.ts';
import { GRACE_MS } from '../support/rig.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { type Latch, latch, soon, turns } from '../support/waiting.ts';

export function appOn(options: Partial<McpServerOptions> = {}): { app: McpApp; clock: VirtualClock } {
  const clock = new VirtualClock();
  const app = createMcpServer({ name: 'app', clock, graceMs: GRACE_MS, ...options });
  onTestFinished(async () => {
    await letGo();
    await app.stop();
  });
  return { app, clock };
}

export function versionOf(era: Era) {
  return { versionNegotiation: { mode: era === 'legacy' ? ('legacy' as const) : { pin: '2026-07-28' } } };
}

export async function clientOf(app: McpApp, era: Era): Promise<Client> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const serving = await app.serve({ transport: theirs });
  const client = new Client({ name: 'client', version: '1' }, versionOf(era));
  await client.connect(ours as never);
  onTestFinished(async () => {
    await letGo();
    await client.close();
    await serving.close();
  });
  return client;
}

export interface Hold {
  // biome-ignore lint/suspicious/noExplicitAny: arguments that pass through
  readonly args: any;
  readonly context: ToolContext;
  returns(value?: unknown): void;
  throws(error: unknown): void;
}

const holdings = new Set<Holding>();

/** So that nothing waits for a handler when its test is over. */
async function letGo(): Promise<void> {
  for (const holding of holdings) holding.letGo();
  holdings.clear();
  await turns();
}

/** A handler that says that it was started, and ends as the test says; it never looks at its signal. */
export class Holding {
  starts = 0;
  readonly #holds: Latch<Hold>[] = [];

  constructor() {
    holdings.add(this);
  }

  readonly handler = (args: unknown, context: ToolContext): Promise<unknown> => {
    const result = latch<unknown>();
    this.#at(this.starts).open({ args, context, returns: result.open, throws: result.fail });
    this.starts += 1;
    return result.promise;
  };

  /** The `nth` start. */
  started(nth = 0): Promise<Hold> {
    return soon(this.#at(nth).promise, `handler ${nth} starts`);
  }

  /** Lets every handler return. */
  letGo(): void {
    for (const { promise } of this.#holds.slice(0, this.starts)) void promise.then((hold) => hold.returns());
  }

  #at(nth: number): Latch<Hold> {
    while (this.#holds.length <= nth) this.#holds.push(latch<Hold>());
    return this.#holds[nth] as Latch<Hold>;
  }
}
