/** The judge on HTTP: on the modern era a cancel is the close of the request's response stream, and nothing else is. */
import { describe, expect, test } from 'vitest';
import type { CaseName } from '../src/probe/cases/table.ts';
import { type Attempt, attempt as attemptOver, names } from './attempt-lines.ts';

const modern = (name: CaseName) => attemptOver(name, 1, { era: 'modern', transport: 'http' });
const legacy = (name: CaseName) => attemptOver(name, 1, { era: 'legacy', transport: 'http' });

const STOPPED = { marker: false, state: ['stopped' as const] };
const COMMITTED = { marker: true, state: ['committed' as const] };

/** The work stopped and its handler acted, whatever crossed the wire before. */
const andStopped = (lines: Attempt) =>
  lines.delivered().stopped().acted().allOpened().settled().watched(STOPPED).judged();

/** Nobody heard of it, and the work committed when the gates were opened. */
const andLost = (lines: Attempt) =>
  lines.notObserved().allOpened().committed().exited('returned').settled().watched(COMMITTED).judged();

describe('modern', () => {
  test('a closed stream is the cancel', () => {
    expect(andStopped(modern('during_work').aborted().streamClosed())).toMatchObject({
      grade: 'as expected',
      outcome: 'stopped',
    });
    expect(names(andLost(modern('during_work').aborted().streamClosed()))).toEqual([
      'committed-in-race',
      'lost-in-runtime',
    ]);
  });

  test('a notification is none: the stream stays open, and that is said', () => {
    const result = andStopped(modern('during_work').cancelled());
    expect(result).toMatchObject({ grade: 'unknown', outcome: 'not-on-wire' });
    expect(result.observations[0]?.shows).toContain('close the response stream of its request');
    expect(names(andLost(modern('during_work').cancelled()))).toEqual(['committed-in-race', 'not-on-wire']);
  });

  test.each([
    ['the server', (lines: Attempt) => lines.aborted().streamClosed('server')],
    ['the client before the abort', (lines: Attempt) => lines.streamClosed().aborted()],
    ['the client, of another request', (lines: Attempt) => lines.aborted().streamClosed('client', 4)],
    [
      'the client, of a request whose id has another type',
      (lines: Attempt) => lines.aborted().streamClosed('client', '3'),
    ],
    ['the client, when it has its response', (lines: Attempt) => lines.aborted().response().streamClosed()],
  ])('closed by %s, it is none', (_, closed) => {
    expect(names(andStopped(closed(modern('during_work'))))).toContain('not-on-wire');
  });

  test('closed when the gates were open, it came too late', () => {
    const late = modern('during_work').aborted().stopped().allOpened().streamClosed();
    expect(late.watched(STOPPED).judged().outcome).toBe('not-on-wire');
  });

  test('what was read after the close is an answer to what was cancelled, and what was read before it is none', () => {
    const ended = (lines: Attempt) => lines.acted().allOpened().settled().watched(COMMITTED).judged();
    expect(names(ended(modern('after_commit').aborted().streamClosed().delivered().response()))).toEqual([
      'answered-after-cancel',
    ]);
    expect(names(ended(modern('after_commit').aborted().streamClosed().delivered().progress()))).toEqual([
      'answered-after-cancel',
    ]);
    expect(names(ended(modern('after_commit').progress().aborted().streamClosed().delivered()))).toEqual([]);
  });

  test('a call that has settled: a stream that ends or is closed after its response is quiet, a notification is not', () => {
    const settled = () => modern('after_settle').aborted();
    expect(settled().watched(COMMITTED).judged()).toMatchObject({ grade: 'as expected', outcome: 'quiet' });
    expect(settled().streamClosed().watched(COMMITTED).judged().outcome).toBe('quiet');
    expect(settled().cancelOnWire().watched(COMMITTED).judged().outcome).toBe('signalled-after-settle');
    expect(settled().request(4).streamClosed('client', 4).watched(COMMITTED).judged().outcome).toBe(
      'signalled-after-settle',
    );
  });
});

describe('legacy', () => {
  test('a notification is the cancel, and a closed stream is none', () => {
    expect(andStopped(legacy('during_work').cancelled())).toMatchObject({ grade: 'as expected', outcome: 'stopped' });
    expect(andStopped(legacy('during_work').aborted().streamClosed()).outcome).toBe('not-on-wire');
    expect(
      andLost(legacy('during_work').cancelled())
        .observations.map(({ shows }) => shows)
        .join(),
    ).not.toContain('stream');
  });

  test('a response on the stream that stayed open is an answer to what was cancelled', () => {
    const lines = legacy('after_commit').cancelled().delivered().response();
    expect(names(lines.acted().allOpened().settled().watched(COMMITTED).judged())).toEqual(['answered-after-cancel']);
  });

  test('a stream that is closed when its call has settled is quiet', () => {
    const settled = legacy('after_settle').aborted().streamClosed();
    expect(settled.watched(COMMITTED).judged()).toMatchObject({ grade: 'as expected', outcome: 'quiet' });
  });
});
