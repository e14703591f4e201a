import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clientAddress, trustedProxies } from '../../src/core/client-address.ts';
import { connectionScope, isShared, scopeOf } from '../../src/core/scope.ts';

const SESSION = '1868a90c-ab02-4a3f-b2a1-0f8d2f3f6c11';

describe('a scope', () => {
  test('is of the most specific that a request shows: session, then principal, then address', () => {
    const caller = { sessionId: SESSION, principal: 'ada', address: '192.0.2.1' };
    expect(scopeOf(caller)).toBe(`session:${SESSION} ada`);
    expect(scopeOf({ ...caller, sessionId: undefined })).toBe('principal:ada');
    expect(scopeOf({ address: caller.address })).toBe('ip:192.0.2.1');
    expect(scopeOf({})).toBeUndefined();
  });

  test('of a session is another one with another principal, and with none', () => {
    const scopes = ['ada', 'bob', undefined].map((principal) => scopeOf({ sessionId: SESSION, principal }));
    expect(new Set(scopes).size).toBe(3);
    expect(scopes[2]).toBe(`session:${SESSION}`);
  });

  test('of a session is the same wherever its client calls from', () => {
    const at = (address: string): unknown => scopeOf({ sessionId: SESSION, principal: 'ada', address });
    expect(at('192.0.2.1')).toBe(at('2001:db8::1'));
  });

  test('keeps principals with spaces in them apart from sessions with principals', () => {
    expect(scopeOf({ sessionId: 'a', principal: 'b c' })).toBe('session:a b c');
    expect(scopeOf({ sessionId: 'a b', principal: 'c' })).toBe('principal:c');
  });

  test.each(['', ' ', 'a b', 'a\t', 'a\n', '\u007f', 'ä', null, 7, ['a'], new String('a')])(
    'is not of %j as a session, which is no session id',
    (sessionId) => {
      expect(scopeOf({ sessionId, principal: 'ada' })).toBe('principal:ada');
      expect(scopeOf({ sessionId })).toBeUndefined();
    },
  );

  test.each(['', null, undefined, 7, {}, ['ada'], new String('ada'), () => 'ada'])(
    'is not of %o as a principal, which is none',
    (principal) => {
      expect(scopeOf({ principal, address: '192.0.2.1' })).toBe('ip:192.0.2.1');
      expect(scopeOf({ sessionId: SESSION, principal })).toBe(`session:${SESSION}`);
    },
  );

  test('has words of up to 256 bytes as they are, and of longer ones the digest', () => {
    expect(scopeOf({ principal: 'ä'.repeat(128) })).toBe(`principal:${'ä'.repeat(128)}`);
    expect(scopeOf({ principal: 'ä'.repeat(129) })).toMatch(/^principal:sha256-[0-9a-f]{64}$/);
    expect(scopeOf({ sessionId: 'a'.repeat(257), principal: 'ada' })).toMatch(/^session:sha256-[0-9a-f]{64} ada$/);
  });

  test('of a long word cannot be had by whoever knows its digest', () => {
    const scope = scopeOf({ sessionId: 'a'.repeat(300) });
    const digest = scope?.slice('session:'.length);
    expect(scopeOf({ sessionId: digest })).not.toBe(scope);
  });

  test('keeps principals apart that differ in half a character, in UTF-8 too', () => {
    const scopes = ['a\ud800', 'a\ud801', 'a\ufffd'].map((principal) => scopeOf({ principal }) ?? '');
    expect(new Set(scopes.map((scope) => Buffer.from(scope).toString())).size).toBe(3);
  });

  test('of a connection is its own', () => {
    const [one, two] = [connectionScope(), connectionScope()];
    expect(one).toMatch(/^connection:\d+$/);
    expect(Number(two.split(':')[1])).toBe(Number(one.split(':')[1]) + 1);
  });

  test('is shared when several clients may live in it: a principal, an address, whatever else', () => {
    for (const scope of ['principal:ada', 'ip:192.0.2.1', 'ip:::/64', 'tenant:7', ''])
      expect(isShared(scope)).toBe(true);
    for (const scope of [`session:${SESSION}`, `session:${SESSION} ada`, connectionScope()]) {
      expect(isShared(scope)).toBe(false);
    }
  });
});

describe('any two callers', () => {
  const word = fc.oneof(
    fc.constantFrom('a', 'b', 'a b', 'sha256-a', 'session:a', 'principal:a', 'ip:192.0.2.1', '192.0.2.1'),
    fc.string({ maxLength: 8 }),
    fc.string({ unit: 'binary', maxLength: 300, size: 'max' }),
    fc.constantFrom('a', 'b', '\ud800').map((text) => text.repeat(300)),
  );
  const principal = fc.option(word, { nil: undefined });
  const sessionId = word.map((text) => text.replace(/[^\x21-\x7e]/g, '') || '-');

  test('with different sessions or principals never share a scope', () => {
    fc.assert(
      fc.property(sessionId, principal, sessionId, principal, (id, who, otherId, otherWho) => {
        fc.pre(id !== otherId || (who || undefined) !== (otherWho || undefined));
        expect(scopeOf({ sessionId: id, principal: who })).not.toBe(
          scopeOf({ sessionId: otherId, principal: otherWho }),
        );
      }),
      { numRuns: 2_000 },
    );
  });

  test('with different principals and no session never share a scope', () => {
    fc.assert(
      fc.property(word, word, (one, two) => {
        fc.pre(one !== two && one !== '' && two !== '');
        expect(scopeOf({ principal: one })).not.toBe(scopeOf({ principal: two }));
      }),
      { numRuns: 2_000 },
    );
  });

  test('of different kinds never meet, whatever their words', () => {
    fc.assert(
      fc.property(sessionId, principal, word, fc.oneof(fc.ipV4(), fc.ipV6()), (id, who, other, address) => {
        const scopes = [scopeOf({ sessionId: id, principal: who }), scopeOf({ principal: `${other}.` })];
        scopes.push(scopeOf({ address }), connectionScope());
        expect(new Set(scopes).size).toBe(4);
        expect(scopes.map((scope) => scope?.split(':')[0])).toEqual(['session', 'principal', 'ip', 'connection']);
      }),
    );
  });

  test('have bounded scopes, that survive UTF-8, and make no exception, whatever they show', () => {
    const anything = fc.oneof(word, fc.anything({ withBigInt: true, withNullPrototype: true }), fc.ipV4(), fc.ipV6());
    const caller = fc.record({ sessionId: anything, principal: anything, address: anything }, { requiredKeys: [] });
    fc.assert(
      fc.property(caller, (shown) => {
        const scope = scopeOf(shown) ?? 'ip:';
        expect(scope).toMatch(/^(session|principal|ip):/);
        expect(Buffer.byteLength(scope)).toBeLessThanOrEqual('principal:'.length + 256 + 1 + 256);
        expect(Buffer.from(scope).toString()).toBe(scope);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('the bucket of an address', () => {
  const bucket = (address: unknown): string | undefined => scopeOf({ address });

  test.each([
    ['192.0.2.1', 'ip:192.0.2.1'],
    ['::ffff:192.0.2.1', 'ip:192.0.2.1'],
    ['::FFFF:c000:201', 'ip:192.0.2.1'],
    ['0:0:0:0:0:ffff:192.0.2.1', 'ip:192.0.2.1'],
    ['::ffff:0.0.0.1', 'ip:0.0.0.1'],
    ['2001:db8:1:2:3:4:5:6', 'ip:2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::', 'ip:2001:db8:1:2::/64'],
    ['2001:db8::1', 'ip:2001:db8::/64'],
    ['1:0:0:2::', 'ip:1:0:0:2::/64'],
    ['0:0:0:2::', 'ip:0:0:0:2::/64'],
    ['fe80::1%eth0', 'ip:fe80::/64'],
    ['::1', 'ip:::/64'],
    ['::', 'ip:::/64'],
  ])('%s is in %s', (address, expected) => {
    expect(bucket(address)).toBe(expected);
  });

  test.each([
    '',
    'localhost',
    '192.0.2',
    '192.0.2.01',
    '192.0.2.1:80',
    '[::1]',
    '192.0.2.0/24',
    ' ::1',
    null,
    7,
    ['::1'],
  ])('%j is no address and has none', (address) => {
    expect(bucket(address)).toBeUndefined();
  });

  const group = fc.integer({ min: 0, max: 0xffff });
  const half = fc.tuple(group, fc.constantFrom(0, 1), group, fc.constantFrom(0, 1));
  const write = (groups: number[]): string => groups.map((value) => value.toString(16)).join(':');

  test('is shared by two addresses of one /64', () => {
    // Not of the first half of nothing but zeros, where mapped IPv4 lives.
    const net = half.filter((groups) => groups.some((value) => value !== 0));
    fc.assert(
      fc.property(net, half, half, (net, one, two) => {
        expect(bucket(write([...net, ...one]))).toBe(bucket(write([...net, ...two]).toUpperCase()));
      }),
    );
  });

  test('is not shared by addresses of two /64', () => {
    fc.assert(
      fc.property(half, half, half, (net, otherNet, host) => {
        fc.pre(write(net) !== write(otherNet));
        expect(bucket(write([...net, ...host]))).not.toBe(bucket(write([...otherNet, ...host])));
      }),
    );
  });

  test('is, for IPv6, a prefix that is written as the address of its network is', () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const text = bucket(address)?.slice('ip:'.length) ?? '';
        if (!text.endsWith('/64')) return;
        expect(bucket(text.slice(0, -'/64'.length))).toBe(`ip:${text}`);
      }),
    );
  });
});

describe('the address of a client', () => {
  const PROXIES = trustedProxies(['10.0.0.0/8', '192.0.2.7', '2001:db8:ffff::/48', '::1']);

  test('is that of its peer, and what is forwarded counts for nothing, when no proxies are named', () => {
    expect(clientAddress('10.0.0.1', '198.51.100.1', undefined)).toBe('10.0.0.1');
    expect(clientAddress('10.0.0.1', '198.51.100.1', trustedProxies([]))).toBe('10.0.0.1');
  });

  test('is that of its peer when the peer is no named proxy', () => {
    expect(clientAddress('203.0.113.1', '198.51.100.1', PROXIES)).toBe('203.0.113.1');
  });

  test('is the first from the right that is no named proxy, whatever a client wrote to the left of it', () => {
    expect(clientAddress('10.0.0.1', '198.51.100.1', PROXIES)).toBe('198.51.100.1');
    expect(clientAddress('10.0.0.1', '203.0.113.9, 198.51.100.1, 192.0.2.7,10.9.9.9', PROXIES)).toBe('198.51.100.1');
    expect(clientAddress('::1', '2001:DB8:0::1 , 2001:db8:ffff::7', PROXIES)).toBe('2001:db8::1');
  });

  test('is read from the lines of several headers in their order', () => {
    expect(clientAddress('10.0.0.1', ['203.0.113.9', '198.51.100.1, 10.0.0.2'], PROXIES)).toBe('198.51.100.1');
  });

  test('is that of the farthest proxy when all of them are named', () => {
    expect(clientAddress('10.0.0.1', '10.0.0.3, 10.0.0.2', PROXIES)).toBe('10.0.0.3');
    expect(clientAddress('10.0.0.1', undefined, PROXIES)).toBe('10.0.0.1');
  });

  test.each(['unknown', '', '_hidden', '198.51.100.1:80', '[::1]', '10.0.0.0/8', '"10.0.0.9"'])(
    'is never behind garbage such as %j: the walk ends at the last named proxy',
    (garbage) => {
      expect(clientAddress('10.0.0.1', `198.51.100.1, ${garbage}, 10.0.0.2`, PROXIES)).toBe('10.0.0.2');
      expect(clientAddress('10.0.0.1', ['198.51.100.1', garbage], PROXIES)).toBe('10.0.0.1');
    },
  );

  test('is never behind a line that is no text', () => {
    expect(clientAddress('10.0.0.1', ['198.51.100.1', null], PROXIES)).toBe('10.0.0.1');
    expect(clientAddress('10.0.0.1', { toString: () => '198.51.100.1' }, PROXIES)).toBe('10.0.0.1');
  });

  test('is unwrapped where it is a mapped one, and so are those of proxies', () => {
    expect(clientAddress('::ffff:10.0.0.1', '::ffff:c633:6401', PROXIES)).toBe('198.51.100.1');
    expect(clientAddress('::ffff:203.0.113.1', '198.51.100.1', PROXIES)).toBe('203.0.113.1');
  });

  test('is none when the peer has none, such as that of a Unix socket', () => {
    expect(clientAddress(undefined, '198.51.100.1', PROXIES)).toBeUndefined();
    expect(clientAddress('', '198.51.100.1', PROXIES)).toBeUndefined();
  });

  test('cannot be chosen by what a client writes, and makes no exception', () => {
    const hop = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom('10.0.0.1', '192.0.2.7', ''), fc.string());
    fc.assert(
      fc.property(fc.array(hop), fc.anything(), (written, peer) => {
        const header = [...written, '198.51.100.1', '10.0.0.2'].join(', ');
        expect(clientAddress('10.0.0.1', header, PROXIES)).toBe('198.51.100.1');
        clientAddress(peer, peer, PROXIES);
      }),
    );
  });
});

describe('trusted proxies', () => {
  test.each([
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/',
    '10.0.0.0/08',
    '10.0.0.0/8/8',
    '10.0.0',
    'proxy.local',
    '',
    ' ::1',
    '*',
  ])('are not %j, and that is said at once', (entry) => {
    expect(() => trustedProxies(['::1', entry])).toThrow(TypeError);
    expect(() => trustedProxies(['::1', entry])).toThrow(
      `estop: trustedProxies: '${entry}' is neither an address nor a CIDR`,
    );
  });

  test.each([['fe80::1%eth0'], [null], [7], [['10.0.0.1']]])('are not %j either', (entry) => {
    expect(() => trustedProxies([entry as string])).toThrow(TypeError);
  });

  test('come in a list: one text is refused, whose letters would be no addresses', () => {
    expect(() => trustedProxies('::1' as never)).toThrow("estop: trustedProxies must be a list, got '::1'");
  });

  test('of all of IPv6 are none of IPv4, and of all of IPv4 none of IPv6', () => {
    expect(trustedProxies(['::/0']).has('192.0.2.1')).toBe(false);
    expect(trustedProxies(['0.0.0.0/0']).has('2001:db8::1')).toBe(false);
    expect(trustedProxies(['::/0', '0.0.0.0/0']).has('192.0.2.1')).toBe(true);
  });

  test('that are written as mapped IPv4 are those of IPv4', () => {
    const proxies = trustedProxies(['::ffff:10.0.0.0/104', '::ffff:192.0.2.7']);
    expect(['10.200.0.1', '11.0.0.1', '192.0.2.7', '192.0.2.8'].map(proxies.has)).toEqual([true, false, true, false]);
    expect(() => trustedProxies(['::ffff:10.0.0.0/90'])).toThrow('is wider than all of IPv4');
  });
});
