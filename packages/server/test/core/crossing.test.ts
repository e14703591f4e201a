/** The codec through a real channel; what a thread does with it is in `thread.test.ts` and `../sdk/isolated.test.ts`. */
import { inspect } from 'node:util';
import { createContext, runInContext } from 'node:vm';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import {
  MissingRequiredClientCapabilityError,
  OAuthError,
  ProtocolError,
  SdkError,
  SdkHttpError,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/server';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cancelled, deadline, StopReason } from '../../src/core/reason.ts';
import { type Crossed, putTogether, takeApart } from '../../src/core/work/isolated/crossing.ts';

class ToolError extends TypeError {
  readonly code = -32_042;
}
class ScrapeError extends ToolError {
  readonly page = 7;
}

describe('a class', () => {
  test.each([Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError])(
    'that is builtin crosses: %o',
    (Class) => {
      const error = crossed<Error>(new Class('no'));
      expect(error).toBeInstanceOf(Class);
      expect(Object.getPrototypeOf(error)).toBe(Class.prototype);
      expect([error.name, error.message, Object.keys(error)]).toEqual([Class.name, 'no', []]);
    },
  );

  test('AggregateError crosses with its errors, in their classes, and what is none among them', () => {
    const error = crossed<AggregateError>(new AggregateError([new ToolError('one'), 'two', [3], () => 4], 'all'));
    expect(error).toBeInstanceOf(AggregateError);
    expect(error.errors[0]).toBeInstanceOf(TypeError);
    expect(error.errors[0]).toMatchObject({ message: 'one', code: -32_042 });
    expect(error.errors.slice(1)).toEqual(['two', [3], '() => 4']);
    expect(Object.keys(error)).toEqual([]);
    expect(crossed<AggregateError>(new AggregateError([])).errors).toEqual([]);
  });

  test('DOMException crosses with its name and the code that goes with it', () => {
    const error = crossed<DOMException>(new DOMException('no', 'AbortError'));
    expect(error).toBeInstanceOf(DOMException);
    expect([error.name, error.message, error.code]).toEqual(['AbortError', 'no', DOMException.ABORT_ERR]);
    expect(crossed<Error>(AbortSignal.abort().reason).name).toBe('AbortError');
  });

  test('StopReason crosses whole', () => {
    const timeout = crossed<StopReason>(deadline('tool "scrape"', 50));
    expect(timeout).toBeInstanceOf(StopReason);
    expect(timeout).toMatchObject({ kind: 'deadline', timeoutMs: 50, by: undefined, name: 'TimeoutError' });
    const stopped = crossed<StopReason>(cancelled('client', 'pressed Stop'));
    expect(stopped).toMatchObject({ kind: 'cancelled', by: 'client', timeoutMs: undefined, name: 'AbortError' });
    expect(stopped.message).toBe('Request cancelled: pressed Stop');
  });

  test('of an author comes out as its nearest builtin ancestor, and its name and its ancestors stay visible', () => {
    const error = crossed<Error>(new ScrapeError('no'));
    expect(error).toBeInstanceOf(TypeError);
    expect(error).not.toBeInstanceOf(ScrapeError);
    expect(error.name).toBe('TypeError');
    expect(error.constructor.name).toBe('ScrapeError');
    expect(Object.getPrototypeOf(error.constructor).name).toBe('ToolError');
    expect(inspect(error)).toMatch(/ScrapeError.*: no\n\s+at /);
    expect(error).toMatchObject({ code: -32_042, page: 7 });
  });

  test('of an author may extend a reason', () => {
    class Impatient extends StopReason {}
    const error = crossed<StopReason>(new Impatient('shutdown', 'enough'));
    expect(error).toBeInstanceOf(StopReason);
    expect([error.kind, error.constructor.name]).toEqual(['shutdown', 'Impatient']);
  });

  test('without a name crosses without one', () => {
    expect(crossed<Error>(new (class extends RangeError {})('no')).constructor).toBe(RangeError);
  });

  test('that is none, of an object made from an error, comes out as an error', () => {
    const error = crossed<Error>(Object.assign(Object.create(RangeError.prototype), { message: 'made' }));
    expect(error).toBeInstanceOf(RangeError);
    expect(error.message).toBe('made');
  });

  test('of another realm comes out as an error with its name', () => {
    const thrown = runInContext('Object.assign(new TypeError("elsewhere"), { code: 7 })', createContext());
    const error = crossed<Error>(thrown);
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: 'TypeError', message: 'elsewhere', code: 7 });
  });

  test('of the MCP SDK is recognised as such, with what its getters say', () => {
    const elicitations = [{ mode: 'url' as const, message: 'in', url: 'https://example.com', elicitationId: '7' }];
    const required = crossed<UrlElicitationRequiredError>(new UrlElicitationRequiredError(elicitations));
    expect(required).toBeInstanceOf(ProtocolError);
    expect(required).toBeInstanceOf(UrlElicitationRequiredError);
    expect(required).not.toBeInstanceOf(MissingRequiredClientCapabilityError);
    expect(required).toMatchObject({ name: 'ProtocolError', code: -32_042, data: { elicitations }, elicitations });

    const http = crossed<SdkHttpError>(new SdkHttpError('FAILED' as never, 'no', { status: 403, statusText: 'No' }));
    expect(http).toBeInstanceOf(SdkError);
    expect(http).toBeInstanceOf(SdkHttpError);
    expect(http).toMatchObject({ status: 403, statusText: 'No' });

    expect(crossed(new OAuthError('invalid_request', 'no'))).toBeInstanceOf(OAuthError);
    expect(crossed(Object.assign(new Error('no'), { code: -32_042 }))).not.toBeInstanceOf(ProtocolError);
  });
});

describe('the properties of an error', () => {
  test('cross with it, whatever their names, and nothing of it is on the prototype', () => {
    const thrown = Object.assign(new Error('no'), { code: 'ENOENT', errno: -2, status: 404, data: new Map([[1, 2]]) });
    expect(crossed(thrown)).toMatchObject({ code: 'ENOENT', errno: -2, status: 404, data: new Map([[1, 2]]) });
    const named = crossed<Error>(
      JSON.parse('{"__proto__": {"polluted": 1}, "toString": 7}', reviveAs(new Error('no'))),
    );
    expect('polluted' in named).toBe(false);
    expect(String(named)).toBe('Error: no');
  });

  test('that are errors cross as errors', () => {
    const { inner } = crossed<{ inner: unknown }>(Object.assign(new Error('out'), { inner: new ToolError('in') }));
    expect(inner).toBeInstanceOf(TypeError);
    expect(inner).toMatchObject({ message: 'in', code: -32_042 });
  });

  test('that cannot be cloned cross as their text', () => {
    const thrown = Object.assign(new Error('no'), { data: () => {}, key: Symbol('key'), bare: bareWithFunction() });
    expect(crossed(thrown)).toMatchObject({
      data: '() => {}',
      key: 'Symbol(key)',
      bare: 'a value that cannot be shown',
    });
  });

  test('that are of its classes only by a getter cross too, unless they throw or cannot be cloned', () => {
    class Lazy extends Error {
      get status(): number {
        return 403;
      }
      get broken(): never {
        throw new Error('never');
      }
      get method(): () => void {
        return () => {};
      }
    }
    const error = crossed<Error>(new Lazy('no'));
    expect(error).toMatchObject({ status: 403 });
    expect(Object.getOwnPropertyNames(error).sort()).toEqual(['message', 'stack', 'status']);
    expect(Object.keys(error)).toEqual([]);
  });

  test('under symbols stay behind when the symbol is private, and cross when it is registered', () => {
    const [mine, ours] = [Symbol('mine'), Symbol.for('estop.test.ours')];
    const error = crossed<Error>(Object.assign(new Error('no'), { [mine]: 1, [ours]: new Set(['brand']) }));
    expect(Object.getOwnPropertySymbols(error)).toEqual([ours]);
    expect(error).toMatchObject({ [ours]: new Set(['brand']) });
  });

  test('name, message and stack are there and not enumerable, as of any error', () => {
    const thrown = Object.assign(new Error('no'), { name: 'Mine', code: 7 });
    const error = crossed<Error>(thrown);
    expect([error.name, error.message, error.stack]).toEqual(['Mine', 'no', thrown.stack]);
    expect(Object.keys(error)).toEqual(['code']);
  });
});

describe('the cause of an error', () => {
  test('crosses with it, and its own, in their classes', () => {
    const thrown = new Error('out', { cause: new ToolError('in', { cause: new RangeError('in there') }) });
    const error = crossed<Error>(thrown);
    expect(error.cause).toBeInstanceOf(TypeError);
    expect(error.cause).toMatchObject({ code: -32_042, message: 'in' });
    expect((error.cause as Error).cause).toBeInstanceOf(RangeError);
    expect(Object.keys(error)).toEqual([]);
  });

  test('crosses when it is no error, and one that is undefined stays one', () => {
    expect(crossed<Error>(new Error('no', { cause: { status: 7 } })).cause).toEqual({ status: 7 });
    expect(Object.hasOwn(crossed<Error>(new Error('no', { cause: undefined })), 'cause')).toBe(true);
    expect(Object.hasOwn(crossed<Error>(new Error('no')), 'cause')).toBe(false);
  });

  test('may be the error itself, or an error in whose errors it is', () => {
    const itself = new Error('itself');
    itself.cause = itself;
    const alone = crossed<Error>(itself);
    expect(alone.cause).toBe(alone);

    const part = new Error('part');
    const whole = new AggregateError([part, part], 'whole');
    part.cause = whole;
    const error = crossed<AggregateError>(whole);
    expect(error.errors[0].cause).toBe(error);
    expect(error.errors[0]).toBe(error.errors[1]);
  });

  test('is cut where the chain gets long, and says what was cut', () => {
    let thrown = new Error('0');
    for (let n = 1; n <= 10_000; n += 1) thrown = new Error(String(n), { cause: thrown });
    let depth = 0;
    let last: unknown = crossed(thrown);
    for (; last instanceof Error; last = last.cause) depth += 1;
    expect(depth).toBe(32);
    expect(last).toBe('Error: 9968');
  });
});

describe('what is no error', () => {
  test.each([[null], [undefined], ['a string'], [''], [7n], [NaN], [{ a: [1] }], [new Date(7)], [new Map([[1, 2]])]])(
    'crosses as it is: %o',
    (thrown) => {
      expect(crossed(thrown)).toEqual(thrown);
    },
  );

  test('crosses as its text where it cannot be cloned', () => {
    expect(crossed(Symbol('why'))).toBe('Symbol(why)');
    expect(crossed({ run() {} })).toBe('[object Object]');
    expect(crossed(Promise.reject(new Error('no')).catch(() => {}))).toBe('[object Promise]');
  });

  test('may be a list of errors', () => {
    const [error, rest] = crossed<[Error, unknown]>([new ToolError('no'), 7]);
    expect(error).toBeInstanceOf(TypeError);
    expect(error.constructor.name).toBe('ToolError');
    expect(rest).toBe(7);
  });

  test('may be a list that holds itself beside an error', () => {
    const list: unknown[] = [new Error('no')];
    list.push(list, list);
    expect(crossed<unknown[]>(list)[0]).toBeInstanceOf(Error);
  });
});

describe('a hostile error crosses all the same', () => {
  const refuse = (): never => {
    throw new Error('refused');
  };
  const getters = (...keys: string[]): Error =>
    Object.defineProperties(
      new Error('no'),
      Object.fromEntries(keys.map((key) => [key, { get: refuse, enumerable: true, configurable: true }])),
    );
  class Nameless extends Error {
    static override get name(): never {
      return refuse();
    }
  }
  const endless = (): object => new Proxy(new Error('no'), { getPrototypeOf: endless });

  // Made in the test: the runner, too, would read them for the title.
  test.each<[string, () => unknown, object]>([
    ['whose properties throw', () => getters('code', 'data', 'cause', 'errors'), { message: 'no', name: 'Error' }],
    ['whose name, message and stack throw', () => getters('stack', 'name', 'message'), { message: '', name: 'Error' }],
    ['whose message is a number', () => Object.assign(new Error(), { message: 7 }), { message: '7' }],
    ['whose message is null', () => Object.assign(new Error(), { message: null }), { message: 'null' }],
    ['whose message cannot be shown', () => Object.assign(new Error(), { message: Object.create(null) }), {}],
    ['whose name is an object', () => Object.assign(new Error('no'), { name: {} }), { name: '[object Object]' }],
    ['whose stack is a list', () => Object.assign(new Error('no'), { stack: ['at'] }), { stack: 'Error: no' }],
    ['without a stack', () => Object.assign(new RangeError('no'), { stack: undefined }), { stack: 'RangeError: no' }],
    ['without a prototype', () => Object.setPrototypeOf(new Error('no'), null), { message: 'no' }],
    ['that is a proxy', () => new Proxy(new ToolError('no'), {}), { message: 'no', code: -32_042 }],
    ['that is frozen', () => Object.freeze(new ToolError('no')), { message: 'no', code: -32_042 }],
    ['whose class has a name that throws', () => new Nameless('no'), { message: 'no' }],
    ['that makes a new cause each time', endlessCause, { message: 'no' }],
  ])('%s', (_what, make, expected) => {
    const error = crossed<Error>(make());
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject(expected);
    for (const key of ['name', 'message', 'stack'] as const) expect(error[key]).toBeTypeOf('string');
    expect(inspect(error)).toBeTypeOf('string');
  });

  test.each<[string, () => unknown]>([
    ['that is a proxy which refuses everything', () => new Proxy(new Error('no'), refusingHandler(refuse))],
    ['that is a revoked proxy', revoked],
    ['whose prototypes have no end', endless],
  ])('%s: as a text', (_what, make) => {
    expect(crossed(make())).toBeTypeOf('string');
  });

  test('as anything at all does', () => {
    const anything = fc.anything({ withBigInt: true, withNullPrototype: true, withMap: true, withTypedArray: true });
    const properties = fc.dictionary(fc.string(), anything);
    fc.assert(
      fc.property(anything, properties, fc.boolean(), (value, properties, asError) => {
        const thrown = asError ? defined(new ToolError('no', { cause: value }), properties) : value;
        const error = crossed(thrown);
        expect(error instanceof Error).toBe(asError);
      }),
      { numRuns: 500 },
    );
  });
});

/** There and back through a real channel. */
function crossed<T>(thrown: unknown): T {
  const { port1, port2 } = new MessageChannel();
  try {
    port1.postMessage(takeApart(thrown));
    return putTogether(receiveMessageOnPort(port2)?.message as Crossed) as T;
  } finally {
    port1.close();
  }
}

/** Puts what JSON has, `__proto__` too, on the error as own properties. */
function reviveAs(error: Error): (key: string, value: unknown) => unknown {
  return (key, value) => (key === '' ? defined(error, value as object) : value);
}

function defined(error: Error, properties: object): Error {
  return Object.defineProperties(error, {
    ...Object.getOwnPropertyDescriptors(properties),
    message: { value: error.message },
  });
}

function bareWithFunction(): object {
  return Object.assign(Object.create(null), { run() {} });
}

function endlessCause(): Error {
  return Object.defineProperty(new Error('no'), 'cause', { get: endlessCause });
}

function refusingHandler(refuse: () => never): ProxyHandler<Error> {
  return { getPrototypeOf: refuse, get: refuse, has: refuse, ownKeys: refuse, getOwnPropertyDescriptor: refuse };
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
