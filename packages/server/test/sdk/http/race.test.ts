/**
 * Cancels that race answers, in every order: on the web's transports of both majors, without a socket in between, so
 * that an order is the order.
 */
import { createEstop } from '@estop/server';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Holding, mapSizes, RESULT } from '../../support/http-setups.ts';
import { holdFrame, INITIALIZE, postOf, WEB_MAJORS } from '../../support/one-session.ts';
import { cancelFrame, type Frame } from '../../support/peer.ts';
import { soon, turns } from '../../support/waiting.ts';

/** What happens to one request of the batch; the rest of the batch goes on meanwhile. */
interface Step {
  readonly id: number;
  readonly what: 'cancel' | 'return';
  /** Turns of the microtask queue that pass before the next step. */
  readonly pause: number;
}

const steps = (size: number): fc.Arbitrary<Step[]> => {
  const all = Array.from({ length: size }, (_, id) => [
    { id, what: 'cancel' } as const,
    { id, what: 'return' } as const,
  ]);
  const pauses = fc.array(fc.nat(12), { minLength: 2 * size, maxLength: 2 * size });
  return fc
    .tuple(fc.shuffledSubarray(all.flat(), { minLength: 2 * size }), pauses)
    .map(([order, pauses]) => order.map((step, n) => ({ ...step, pause: pauses[n] ?? 0 })));
};

const batches = fc.integer({ min: 1, max: 4 }).chain((size) => fc.tuple(fc.constant(size), steps(size)));

describe.each(WEB_MAJORS)('%s', (major, connect) => {
  test.each([
    ['SSE', false],
    ['JSON', true],
  ])(
    '%s: at most one frame for a call, none for one that was cancelled first, and the exchange ends',
    async (_how, json) => {
      const run = async ([size, order]: [number, Step[]]): Promise<void> => {
        const holding = new Holding();
        const estop = createEstop({ cleanupMs: Infinity });
        const [server, transport] = connect({ enableJsonResponse: json });
        server.registerTool('hold', {}, holding.hold as never);
        estop.protect(server);
        await server.connect(transport as never);
        const post = (body: unknown): Promise<Response> =>
          transport.handleRequest(postOf({ body: JSON.stringify(body) }));
        await (await post(INITIALIZE)).text();

        const answer = post(Array.from({ length: size }, (_, id) => holdFrame(id)));
        const helds = await Promise.all(Array.from({ length: size }, (_, id) => holding.started(id)));
        const cancels: Promise<Response>[] = [];
        const cancelledFirst = new Set<number>();
        for (const { id, what, pause } of order) {
          if (what === 'return') helds[id]?.returns();
          else cancels.push(post(cancelFrame(id)));
          for (let n = 0; n < pause; n += 1) await Promise.resolve();
          if (estop.calls().some((call) => call.id === id && call.reason !== undefined)) cancelledFirst.add(id);
        }
        await Promise.all(cancels);
        const response = await soon(answer, 'an answer begins');
        const frames = framesIn(await soon(response.text(), 'the exchange ends'));
        const answered = frames.map(({ id }) => id);
        expect(new Set(answered).size).toBe(answered.length);
        for (const id of cancelledFirst) expect(answered).not.toContain(id);
        for (const frame of frames) expect(frame.result).toMatchObject(RESULT);
        await turns();
        expect(estop.stats().inFlight).toBe(0);
        // v1 in JSON mode keeps an entry of each exchange that it has answered itself.
        if (!(json && major === 'v1')) expect(mapSizes(transport)).toEqual(mapSizes(transport).fill(0));
        await transport.close();
        await estop.stop();
      };
      await fc.assert(fc.asyncProperty(batches, run), { numRuns: 150 });
    },
  );
});

function framesIn(body: string): Frame[] {
  if (body === '') return [];
  const texts = body.startsWith('event:') ? [...body.matchAll(/^data: (.*)$/gm)].map(([, text = '']) => text) : [body];
  return texts.flatMap((text) => JSON.parse(text) as Frame | Frame[]);
}
