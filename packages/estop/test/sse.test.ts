import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sseReader } from '../src/probe/subject/http/sse.ts';

/** What is told of these chunks. */
function read(chunks: readonly (string | Buffer)[], max = 1_000): string[] {
  const told: string[] = [];
  const push = sseReader(max, (data) => told.push(data));
  for (const chunk of chunks) push(Buffer.from(chunk));
  return told;
}

describe('events', () => {
  it.each([
    ['one', 'data: {"a":1}\n\n', ['{"a":1}']],
    [
      'two, with an id, a name and a time to wait',
      'id: 7\nretry: 10\nevent: message\ndata:x\n\ndata: y\n\n',
      ['x', 'y'],
    ],
    ['lines that end in CRLF, or in CR', 'data: x\r\n\r\ndata: y\r\rdata: z\n\r\n', ['x', 'y', 'z']],
    ['data in more lines than one', 'data: {\ndata: }\n\n', ['{\n}']],
    ['one space alone belongs to the form', 'data:  x \n\n', [' x ']],
    ['comments, blank lines and an event without data', ': hello\n\n\n\nevent: message\n\nid: 1\n\ndata: x\n\n', ['x']],
    ['a field without a colon', 'data\n\n', ['']],
    ['a mark of the byte order', '\ufeffdata: x\n\n', ['x']],
    ['of another name', 'event: ping\ndata: x\n\ndata: y\n\n', ['y']],
    ['the end of the stream is no end of an event', 'data: x\n\ndata: y\n', ['x']],
    ['what is none of it', '\0\x01nonsense\n\ndata: x\n\n', ['x']],
  ])('%s', (_, text, told) => {
    expect(read([text])).toEqual(told);
  });

  it('are told at the line that ends them, and not with what comes next', () => {
    const told: string[] = [];
    const push = sseReader(1_000, (data) => told.push(data));
    push(Buffer.from('data: x\r\n'));
    expect(told).toEqual([]);
    push(Buffer.from('\r'));
    expect(told).toEqual(['x']);
    push(Buffer.from('\ndata: y\n\n'));
    expect(told).toEqual(['x', 'y']);
  });

  it('of any size are the same in whatever chunks they come', () => {
    const line = fc.array(fc.constantFrom('ä', '€', '😀', '{', '"', ' ', ':', 'data', 'x'), { maxLength: 8 });
    const end = fc.constantFrom('\n', '\r\n', '\r');
    const event = fc.tuple(
      fc.array(
        line.map((parts) => `data: ${parts.join('')}`),
        { maxLength: 3 },
      ),
      end,
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 4 }), fc.array(fc.nat(6), { minLength: 1 }), (events, sizes) => {
        const bytes = Buffer.from(events.map(([lines, eol]) => [...lines, '', ''].join(eol)).join(''));
        const chunks: Buffer[] = [];
        for (let at = 0, n = 0; at < bytes.length; n++) {
          const size = 1 + (sizes[n % sizes.length] ?? 0);
          chunks.push(bytes.subarray(at, at + size));
          at += size;
        }
        expect(read(chunks)).toEqual(read([bytes]));
      }),
    );
  });

  it('that are too long are not kept, and the next one is told', () => {
    const long = 'x'.repeat(60);
    expect(read([`data: ${long}\n`, `data: ${long}\n\n`, 'data: y\n\n'], 100)).toEqual(['y']);
    expect(read([`data: ${'x'.repeat(1_000)}`, 'x'.repeat(1_000), '\n', '\n', 'data: y\n\n'], 100)).toEqual(['y']);
  });
});
