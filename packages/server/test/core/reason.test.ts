import {
  cancelled,
  cleanReason,
  deadline,
  disconnected,
  REQUEST_CANCELLED,
  REQUEST_CANCELLED_TEXT,
  StopReason,
} from '@estop/server/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

describe('a reason', () => {
  test('is an Error that says by its kind what happened, and by whom', () => {
    expect(cancelled('client')).toMatchObject({ kind: 'cancelled', by: 'client', name: 'AbortError' });
    expect(cancelled('library')).toMatchObject({ kind: 'cancelled', by: 'library' });
    expect(deadline('tool "scrape"', 50)).toMatchObject({ kind: 'deadline', timeoutMs: 50, name: 'TimeoutError' });
    expect(disconnected()).toMatchObject({ kind: 'disconnected', by: undefined, name: 'AbortError' });
    expect(new StopReason('shutdown', 'text')).toMatchObject({ kind: 'shutdown', name: 'AbortError' });
    for (const reason of [cancelled('bus'), deadline('x', 1), disconnected()]) {
      expect(reason).toBeInstanceOf(StopReason);
      expect(reason).toBeInstanceOf(Error);
    }
  });

  test('of a cancel carries the words of whoever cancelled, cleaned', () => {
    expect(cancelled('client', 'user pressed\u0007 Stop').message).toBe('Request cancelled: user pressed Stop');
    expect(cancelled('client').message).toBe('Request cancelled');
    expect(cancelled('client', { toString: () => 'forged' }).message).toBe('Request cancelled');
  });

  test('has the code and the text of a cancelled request to go with it', () => {
    expect(REQUEST_CANCELLED).toBe(-32800);
    expect(REQUEST_CANCELLED_TEXT).toBe('Request cancelled');
  });
});

describe('words from outside', () => {
  test('keep their letters, whatever the script, and emoji', () => {
    for (const text of ['plain', 'Grüße, 世界', 'שלום', '😀 👍🏽']) expect(cleanReason(text)).toBe(text);
  });

  test('are cut at 200 characters, and an emoji is one character', () => {
    expect(cleanReason('a'.repeat(201))).toBe('a'.repeat(200));
    expect(cleanReason('😀'.repeat(201))).toBe('😀'.repeat(200));
    expect(cleanReason(`${'a'.repeat(199)}😀😀`)).toBe(`${'a'.repeat(199)}😀`);
  });

  test.each([
    ['C0 controls', '\u0000\u0007\u0008\t\n\r\u001b\u001f'],
    ['DEL and C1 controls', '\u007f\u0080\u0085\u009b\u009f'],
    ['bidirectional controls', '\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069'],
    ['zero-width characters', '\u200b\u200c\u200d\u2060\ufeff'],
    ['line and paragraph separators', '\u2028\u2029'],
    ['other format characters', '\u00ad\u180e\u{e0001}\u{e007f}'],
  ])('lose their %s', (_what, unsafe) => {
    expect(cleanReason(`be${unsafe}fore`)).toBe('before');
    expect(cleanReason(unsafe)).toBeUndefined();
  });

  test.each([undefined, null, 0, 7, true, {}, ['text'], Symbol('text'), new String('text')])(
    '%o is no reason, and is not asked for a text',
    (why) => {
      expect(cleanReason(why)).toBeUndefined();
    },
  );

  test('an empty one is none', () => {
    expect(cleanReason('')).toBeUndefined();
  });

  test('never end in half a character, however much of them was unsafe', () => {
    expect(cleanReason(`a${'\u200b'.repeat(798)}😀`)).toSatisfy(isWhole);
    expect(cleanReason('a\ud83d')).toBe('a');
    expect(cleanReason('\ude00b')).toBe('b');
  });

  test('come out safe, whole and short, whatever they are', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 2_000, size: 'max' }), (why) => {
        const text = cleanReason(why);
        if (text === undefined) return;
        expect([...text].length).toBeLessThanOrEqual(200);
        expect(text).toSatisfy(isWhole);
        expect(text).not.toMatch(/\p{Cc}|\p{Bidi_Control}|\u200b|\u200c|\u200d|\u2060|\ufeff|\u2028|\u2029/u);
      }),
    );
  });

  test('are cleaned in bounded time, also when they are megabytes of nothing', () => {
    expect(cleanReason('\u200b'.repeat(10_000_000))).toBeUndefined();
  });
});

function isWhole(text: unknown): boolean {
  return typeof text === 'string' && !/\p{Surrogate}/u.test(text);
}
