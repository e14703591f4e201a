/** A server whose handlers wait for the test: it knows when each has started, and decides how each ends. */
import type { McpServer, ServerContext } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { type Major, MCP_SERVERS, wordsOf } from './majors.ts';
import { type Latch, latch, soon } from './waiting.ts';

export interface Held {
  /** Of v1 it is an `extra`, whatever the type says: what it can do is in `wordsOf(ctx)`. */
  readonly ctx: ServerContext;
  readonly signal: AbortSignal;
  returns(result: unknown): void;
  throws(error: unknown): void;
}

export class HeldServer {
  readonly server: McpServer;
  /** The ids of the calls whose handlers were started, in order. */
  readonly starts: (string | number)[] = [];
  readonly #held = new Map<string | number, Latch<Held>[]>();
  #isOver = false;

  constructor(major: Major = 'v2') {
    this.server = new MCP_SERVERS[major](
      { name: 'held', version: '1' },
      { capabilities: { logging: {}, tools: {}, prompts: {}, resources: {} } },
    );
    this.server.registerTool('hold', {}, (ctx) => this.#hold(ctx) as never);
    this.server.registerTool('with-schema', { outputSchema: z.object({ count: z.number() }) }, (ctx) => {
      return this.#hold(ctx) as never;
    });
    this.server.registerTool('quick', {}, async () => ({ content: [{ type: 'text', text: 'quick' }] }));
    this.server.registerPrompt('hold', {}, (ctx) => this.#hold(ctx) as never);
    this.server.registerResource('hold', 'test://hold', {}, (_uri, ctx) => this.#hold(ctx) as never);
  }

  /** The `nth` handler that was started for this id. */
  handlerStarted(id: string | number, nth = 0): Promise<Held> {
    return soon(this.#latches(id, nth).promise, `the handler of call ${JSON.stringify(id)} starts`);
  }

  /** Lets every handler return, also those that start later: so that nothing waits for them when a test is over. */
  releaseAll(): void {
    this.#isOver = true;
    for (const latches of this.#held.values()) {
      for (const { promise } of latches) void promise.then(({ returns }) => returns(RESULT));
    }
  }

  hold = (ctx: ServerContext): Promise<unknown> => this.#hold(ctx);

  #hold(ctx: ServerContext): Promise<unknown> {
    const { id, signal } = wordsOf(ctx);
    const nth = this.starts.filter((started) => started === id).length;
    this.starts.push(id);
    const result = latch<unknown>();
    if (this.#isOver) result.open(RESULT);
    this.#latches(id, nth).open({ ctx, signal, returns: result.open, throws: result.fail });
    return result.promise;
  }

  #latches(id: string | number, nth: number): Latch<Held> {
    const latches = this.#held.get(id) ?? [];
    this.#held.set(id, latches);
    while (latches.length <= nth) latches.push(latch<Held>());
    return latches[nth] as Latch<Held>;
  }
}

export const RESULT = { content: [{ type: 'text', text: 'the result' }] };
