/** Two POSTs of one session that are being read at once: each message is of the exchange that it came in. */
import { createEstop } from '@estop/server';
import { describe, expect, test } from 'vitest';
import { Holding } from '../../support/http-setups.ts';
import { holdFrame, INITIALIZE, postOf, WEB_MAJORS } from '../../support/one-session.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { turns, until } from '../../support/waiting.ts';

const GRACE_MS = 5_000;

describe.each(WEB_MAJORS)('%s', (_major, connect) => {
  test.each(['first', 'second'] as const)(
    'the client of the %s one hangs up: that call stops, and no other',
    async (who) => {
      const clock = new VirtualClock();
      const estop = createEstop({ clock, cleanupMs: Infinity });
      const holding = new Holding();
      const [server, transport] = connect({});
      server.registerTool('hold', {}, holding.hold as never);
      estop.protect(server);
      await server.connect(transport as never);
      await (await transport.handleRequest(slowly(INITIALIZE).finished().request)).text();

      const first = slowly(holdFrame('first'));
      const second = slowly(holdFrame('second'));
      const answers = [transport.handleRequest(first.request), transport.handleRequest(second.request)];
      await turns();
      // The one that came later is read first.
      second.finished();
      await holding.started('second');
      first.finished();
      await holding.started('first');

      const [gone, kept] = who === 'first' ? [first, 'second'] : [second, 'first'];
      gone.hangsUp();
      await until(() => clock.pending > 0, 'the hang-up is seen');
      clock.advance(GRACE_MS);
      expect(await (await holding.started(who)).stopped).toMatchObject({ kind: 'disconnected' });
      const other = await holding.started(kept);
      expect(other.signal.aborted).toBe(false);
      other.returns();
      const texts = await Promise.all(answers.map(async (answer) => (await answer).text()));
      expect(texts.filter((text) => text.includes('the result')).length).toBe(1);
      holding.releaseAll();
      await turns();
      expect(estop.stats().inFlight).toBe(0);
      await transport.close();
    },
  );
});

/** A request whose body comes when the test says so. */
function slowly(frame: object): { request: Request; finished(): { request: Request }; hangsUp(): void } {
  const client = new AbortController();
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given;
    },
  });
  const init = { body, duplex: 'half', signal: client.signal };
  const request = postOf(init as RequestInit);
  return {
    request,
    finished() {
      controller?.enqueue(new TextEncoder().encode(JSON.stringify(frame)));
      controller?.close();
      return { request };
    },
    hangsUp: () => client.abort(),
  };
}
