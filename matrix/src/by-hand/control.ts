/**
 * The far end of the kit's tool, as `docs/kit.md` has it: what handlers say, the gate that holds them, and their work.
 *
 * The probe has one of its own; this one is for what the probe does not do. Judges nothing, and waits for nobody.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** One call's handler, as far as it has been heard of. */
export interface Heard {
  readonly started: Promise<void>;
  readonly signalled: Promise<void>;
  /** It has come to its work, which is done as soon as it is begun. */
  readonly worked: Promise<void>;
  readonly exited: Promise<void>;
  /** Lets it go on to its work. */
  openGate(): void;
}

export interface Control {
  /** For the subject's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** The arguments of a call of the tool. */
  argsOf(testId: string): { test_id: string; work_url: string };
  heard(testId: string): Heard;
  close(): Promise<void>;
}

interface Test extends Heard {
  readonly has: Record<'started' | 'signalled' | 'worked' | 'exited', () => void>;
  readonly gate: Promise<void>;
}

const MEANS = new Map<unknown, 'signalled' | 'exited'>([
  ['handler_signal', 'signalled'],
  ['handler_exited', 'exited'],
]);

export async function startControl(): Promise<Control> {
  const tests = new Map<string, Test>();
  const testOf = (id: string): Test => {
    const test = tests.get(id) ?? newTest();
    tests.set(id, test);
    return test;
  };
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const [, id = '', what] = /^\/tests\/([^/]+)\/(line|events|gates|work)/.exec(req.url ?? '') ?? [];
    const test = testOf(id);
    // A line is never answered.
    if (what === 'line') return test.has.started();
    if (what === 'gates') await test.gate;
    if (what === 'work') test.has.worked();
    if (what === 'events') {
      const { event } = (await json(req)) as { event?: unknown };
      const meaning = MEANS.get(event);
      if (meaning) test.has[meaning]();
    }
    res.writeHead(what === 'work' ? 200 : 204).end();
  };

  const server = createServer((req, res) => {
    req.on('error', () => {});
    // A subject that ends in the middle of a sentence has not said it.
    answer(req, res).catch(() => res.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    env: { ESTOP_CONTROL_URL: url, ESTOP_CONTROL_TOKEN: 'none' },
    argsOf: (testId) => ({ test_id: testId, work_url: `${url}/tests/${testId}/work` }),
    heard: testOf,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function newTest(): Test {
  const [started, signalled, worked, exited, gate] = [later(), later(), later(), later(), later()];
  return {
    started: started.promise,
    signalled: signalled.promise,
    worked: worked.promise,
    exited: exited.promise,
    gate: gate.promise,
    openGate: gate.resolve,
    has: {
      started: started.resolve,
      signalled: signalled.resolve,
      worked: worked.resolve,
      exited: exited.resolve,
    },
  };
}

function later(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
