import { addAbortListener, EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Call, cancelled, type StopReason } from '@estop/server/core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type ProcessEvents, processEvents } from '../support/process-events.ts';
import { rig } from '../support/rig.ts';
import { soon, turns } from '../support/waiting.ts';

describe('a listener that is careless', () => {
  const careless: Record<string, (signal: AbortSignal, error: unknown) => void> = {
    'that throws': (signal, error) =>
      signal.addEventListener('abort', () => {
        throw error;
      }),
    'that is async and rejects': (signal, error) =>
      signal.addEventListener('abort', async () => {
        throw error;
      }),
    'that is an object whose handleEvent throws': (signal, error) =>
      signal.addEventListener('abort', {
        handleEvent() {
          throw error;
        },
      }),
    'that is an object whose handleEvent rejects': (signal, error) =>
      signal.addEventListener('abort', { handleEvent: () => Promise.reject(error) }),
    'that is set as onabort and throws': (signal, error) => {
      signal.onabort = () => {
        throw error;
      };
    },
    'that is set as onabort and rejects': (signal, error) => {
      signal.onabort = () => Promise.reject(error);
    },
    'that is an object without handleEvent': (signal) => signal.addEventListener('abort', {} as never),
    'that rejects with a thenable of its own': (signal, error) =>
      signal.addEventListener('abort', () => ({
        // biome-ignore lint/suspicious/noThenProperty: a thenable is what it is about
        then: (_: unknown, reject: (error: unknown) => void) => reject?.(error),
      })),
  };

  test.each(Object.entries(careless))('%s becomes a warning, and the others still run', async (_name, listen) => {
    const events = processEvents();
    const { call, stop, ran, listenToo } = listening();
    listenToo();
    listen(call.signal, new Error('careless'));
    listenToo();
    stop();
    await turns();
    expect(ran()).toBe(2);
    expectHarmless(events);
  });

  test('is warned of with its own words', async () => {
    const events = processEvents();
    const { call, stop } = listening();
    call.signal.addEventListener('abort', () => {
      throw new Error('mine to find');
    });
    stop();
    await turns();
    expect(events.warnings).toMatchObject([{ name: 'EstopWarning', code: 'ESTOP_LISTENER_THREW' }]);
    expect(events.warnings[0]?.message).toContain('mine to find');
  });

  test.each([null, undefined, 'text', Symbol('symbol'), Object.create(null), new Proxy({}, { get: () => null })])(
    'does no harm by throwing %o',
    async (thrown) => {
      const events = processEvents();
      const { call, stop, ran, listenToo } = listening();
      call.signal.addEventListener('abort', () => {
        throw thrown;
      });
      call.signal.addEventListener('abort', () => Promise.reject(thrown));
      listenToo();
      stop();
      await turns();
      expect(ran()).toBe(1);
      expect(events.warnings).toHaveLength(2);
      expectHarmless(events);
    },
  );

  test('does not keep the stop from being answered', async () => {
    processEvents();
    const { call, answer } = rig().start();
    call.signal.addEventListener('abort', () => {
      throw new Error('careless');
    });
    call.stop(cancelled('client'));
    await turns();
    expect(answer.error).toBe(call.reason);
  });

  /** A warning is all: no exception that would end the process, no rejection that nobody heard. */
  function expectHarmless(events: ProcessEvents): void {
    expect(events.uncaught).toEqual([]);
    expect(events.unhandled).toEqual([]);
    for (const warning of events.warnings) expect(warning.name).toBe('EstopWarning');
  }
});

describe('it is an ordinary signal', () => {
  test('by class, by name, and in what a listener gets as this and as event', () => {
    const { call, stop } = listening();
    const { signal } = call;
    expect(signal).toBeInstanceOf(AbortSignal);
    expect(signal).toBeInstanceOf(EventTarget);
    expect(Object.prototype.toString.call(signal)).toBe('[object AbortSignal]');
    const seen: unknown[] = [];
    signal.addEventListener('abort', function (this: unknown, event) {
      seen.push(this, event.type, event.target);
    });
    stop();
    expect(seen).toEqual([signal, 'abort', signal]);
  });

  test('a listener that is removed does not run, function or object', () => {
    const { call, stop } = listening();
    let ran = 0;
    const listener = () => (ran += 1);
    const object = { handleEvent: listener };
    call.signal.addEventListener('abort', listener);
    call.signal.addEventListener('abort', object);
    call.signal.removeEventListener('abort', listener);
    call.signal.removeEventListener('abort', object);
    stop();
    expect(ran).toBe(0);
  });

  test('a listener that is added twice runs once, and one that serves two signals is removed from one only', () => {
    const one = listening();
    const two = listening();
    let ran = 0;
    const listener = () => (ran += 1);
    one.call.signal.addEventListener('abort', listener);
    one.call.signal.addEventListener('abort', listener);
    two.call.signal.addEventListener('abort', listener);
    two.call.signal.removeEventListener('abort', listener);
    one.stop();
    two.stop();
    expect(ran).toBe(1);
  });

  test('once is once, and a capture is told from none', () => {
    const { call, stop } = listening();
    let ran = 0;
    const listener = () => (ran += 1);
    call.signal.addEventListener('abort', listener, { once: true });
    call.signal.addEventListener('abort', listener, { capture: true });
    call.signal.removeEventListener('abort', listener, { capture: true });
    stop();
    call.signal.dispatchEvent(new Event('abort'));
    expect(ran).toBe(1);
  });

  test('a listener goes with the signal that it was registered for', () => {
    const { call, stop } = listening();
    const until = new AbortController();
    let ran = 0;
    call.signal.addEventListener('abort', () => (ran += 1), { signal: until.signal });
    until.abort();
    stop();
    expect(ran).toBe(0);
  });

  test('onabort runs, can be replaced, and can be taken away', () => {
    const { call, stop } = listening();
    const ran: string[] = [];
    call.signal.onabort = () => ran.push('first');
    call.signal.onabort = () => ran.push('second');
    stop();
    const { call: other, stop: stopOther } = listening();
    other.signal.onabort = () => ran.push('never');
    other.signal.onabort = null;
    stopOther();
    expect(ran).toEqual(['second']);
  });

  test('throwIfAborted throws the reason', () => {
    const { call, stop } = listening();
    expect(() => call.signal.throwIfAborted()).not.toThrow();
    const reason = stop();
    expect(() => call.signal.throwIfAborted()).toThrow(reason);
  });

  test('more listeners than Node likes are no warning', async () => {
    const events = processEvents();
    const { call, stop } = listening();
    for (let listener = 0; listener < 50; listener += 1) call.signal.addEventListener('abort', () => {});
    stop();
    await turns();
    expect(events.warnings).toEqual([]);
  });
});

describe('what Node builds on signals works with it', () => {
  test('AbortSignal.any, with the reason', () => {
    const { call, stop } = listening();
    const any = AbortSignal.any([call.signal, new AbortController().signal]);
    const reason = stop();
    expect(any.reason).toBe(reason);
    expect(AbortSignal.any([call.signal]).reason).toBe(reason);
  });

  test('fetch, which rejects with the reason and closes its connection', async () => {
    const { call, stop } = listening();
    const server = createServer();
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const fetched = fetch(`http://127.0.0.1:${port}`, { signal: call.signal }).catch((error: unknown) => error);
    const [, response] = await soon(once(server, 'request'), 'the request arrives');
    const closed = once(response, 'close');
    const reason = stop();
    expect(await soon(fetched, 'fetch rejects')).toBe(reason);
    await soon(closed, 'the connection is closed');
  });

  test('a Request that is made with it', () => {
    const { call, stop } = listening();
    const request = new Request('http://127.0.0.1', { signal: call.signal });
    const reason = stop();
    expect(request.signal.reason).toBe(reason);
  });

  test('events.once, and events.on', async () => {
    const { call, stop } = listening();
    const emitter = new EventEmitter();
    const waiting = once(emitter, 'never', { signal: call.signal }).catch((error: unknown) => error);
    const reason = stop();
    expect(await waiting).toMatchObject({ name: 'AbortError', cause: reason });
    expect(emitter.listenerCount('never')).toBe(0);
  });

  test('events.addAbortListener, before and after the stop, and its disposal', () => {
    const { call, stop } = listening();
    const ran: string[] = [];
    addAbortListener(call.signal, () => ran.push('kept'));
    addAbortListener(call.signal, () => ran.push('disposed'))[Symbol.dispose]();
    stop();
    expect(ran).toEqual(['kept']);
  });

  test('timers/promises, and nothing of it is left when the timer was first', async () => {
    const { call, stop } = listening();
    await sleep(1, undefined, { signal: call.signal });
    const sleeping = sleep(2 ** 30, undefined, { signal: call.signal }).catch((error: unknown) => error);
    const reason = stop();
    expect(await sleeping).toMatchObject({ name: 'AbortError', cause: reason });
  });
});

interface Listening {
  readonly call: Call;
  stop(): StopReason;
  listenToo(): void;
  ran(): number;
}

function listening(): Listening {
  const { call } = rig().start();
  let ran = 0;
  return {
    call,
    stop() {
      const reason = cancelled('client');
      call.stop(reason);
      return reason;
    },
    // A listener of its own each time: the same one would be registered once.
    listenToo: () => call.signal.addEventListener('abort', () => (ran += 1)),
    ran: () => ran,
  };
}
