import { describe, expect, it } from 'vitest';
import type { Log } from '../src/probe/log.ts';
import { createCapture, newTestId } from '../src/probe/subject/capture.ts';
import { tempLog } from './probe-fixture.ts';

function start() {
  const log = tempLog();
  const capture = createCapture(log);
  const testId = newTestId();
  capture.expect(testId);
  const call = (id: unknown, of = testId, progressToken?: unknown) => {
    const params = { name: 'slow_marker', arguments: { nested: [`http://x/${of}`] }, _meta: { progressToken } };
    capture.seen('to-server', { jsonrpc: '2.0', id, method: 'tools/call', params });
  };
  const cancel = (requestId: unknown) => {
    capture.seen('to-server', { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
  };
  return { log, capture, testId, call, cancel };
}

/** The frames of an attempt as they were logged, without the head of the line. */
const frames = (log: Log, testId: string) =>
  log.of(testId).map(({ seq: _, at: __, source: ___, testId: ____, ...frame }) => frame);

it('a test id looks like one, and is new', () => {
  expect(newTestId()).toMatch(/^t-[0-9a-f]{16}$/);
  expect(newTestId()).not.toBe(newTestId());
});

describe('the capture', () => {
  it('knows a call by the test id in its params, and its answer by the id', () => {
    const { log, capture, testId, call } = start();
    call(0);
    capture.seen('to-client', { jsonrpc: '2.0', id: 0, result: { content: [] } });
    expect(frames(log, testId)).toEqual([
      { event: 'wire', direction: 'to-server', kind: 'request', method: 'tools/call', wireId: 0 },
      { event: 'wire', direction: 'to-client', kind: 'response', wireId: 0, isError: false },
    ]);
    expect(log.lines.every((line) => line.source === 'wire')).toBe(true);
  });

  it('tells an error from a result, in both of its forms', () => {
    const { log, capture, testId, call } = start();
    call(1);
    capture.seen('to-client', { jsonrpc: '2.0', id: 1, error: { code: -1, message: '' } });
    capture.seen('to-client', { jsonrpc: '2.0', id: 1, result: { isError: true } });
    expect(frames(log, testId).slice(1)).toMatchObject([{ isError: true }, { isError: true }]);
  });

  it('takes 7 and "7" for two ids', () => {
    const { log, capture, testId, call } = start();
    const other = newTestId();
    capture.expect(other);
    call(7);
    call('7', other);
    capture.seen('to-client', { jsonrpc: '2.0', id: '7', result: {} });
    expect(frames(log, testId)).toHaveLength(1);
    expect(frames(log, other)).toMatchObject([{ wireId: '7' }, { wireId: '7', kind: 'response' }]);
  });

  it('finds the call that a cancel means, and keeps the id as it was', () => {
    const { log, testId, call, cancel } = start();
    call(7);
    cancel(7);
    cancel('7');
    expect(frames(log, testId).slice(1)).toEqual([
      { event: 'wire', direction: 'to-server', kind: 'notification', method: 'notifications/cancelled', cancels: 7 },
      { event: 'wire', direction: 'to-server', kind: 'notification', method: 'notifications/cancelled', cancels: '7' },
    ]);
  });

  it('prefers the exact id of a cancel to its text', () => {
    const { log, capture, testId, call, cancel } = start();
    const other = newTestId();
    capture.expect(other);
    call(7);
    call('7', other);
    cancel(7);
    expect(frames(log, testId).at(-1)).toMatchObject({ cancels: 7 });
    expect(frames(log, other)).toHaveLength(1);
  });

  it("finds a call's progress by its token", () => {
    const { log, capture, testId, call } = start();
    call(3, testId, 'token');
    const progress = (progressToken: unknown) =>
      capture.seen('to-client', { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken } });
    progress('token');
    progress('other');
    progress(3);
    expect(frames(log, testId).slice(1)).toEqual([
      {
        event: 'wire',
        direction: 'to-client',
        kind: 'notification',
        method: 'notifications/progress',
        progressToken: 'token',
      },
    ]);
  });

  it('keeps the directions apart: an answer to the server has ids of its own', () => {
    const { log, capture, testId, call } = start();
    call(1);
    capture.seen('to-client', { jsonrpc: '2.0', id: 1, method: 'elicitation/create', params: {} });
    capture.seen('to-server', { jsonrpc: '2.0', id: 1, result: {} });
    expect(frames(log, testId)).toHaveLength(1);
  });

  it('logs nothing of frames that belong to no attempt', () => {
    const { log, capture, call, cancel } = start();
    call(1, newTestId());
    cancel(1);
    capture.seen('to-server', { jsonrpc: '2.0', id: 2, method: 'tools/list' });
    capture.seen('to-client', { jsonrpc: '2.0', id: 2, result: {} });
    expect(log.lines).toEqual([]);
  });

  it('reads a batch frame by frame', () => {
    const { log, capture, testId, call } = start();
    call(1);
    capture.seen('to-client', [
      { jsonrpc: '2.0', id: 1, result: {} },
      { jsonrpc: '2.0', id: 9, result: {} },
    ]);
    expect(frames(log, testId)).toHaveLength(2);
  });

  it('knows what became of the POST that carried a call, or its cancel; of a batch too', () => {
    const { log, capture, testId, call } = start();
    call(7);
    const carried = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { testId } };
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: '7' } };
    capture.answered([carried, cancel], 202);
    capture.closed(carried, 'client');
    expect(frames(log, testId).slice(1)).toEqual([
      { event: 'post_answered', status: 202, wireId: 7 },
      { event: 'post_answered', status: 202, cancels: '7' },
      { event: 'stream_closed', by: 'client', wireId: 7 },
    ]);
  });

  it.each([
    [undefined],
    [null],
    [7],
    ['text'],
    [[]],
    [[null, [7]]],
    [{}],
    [{ id: {} }],
    [{ id: null, result: null }],
    [{ method: 7, params: 7 }],
    [{ method: 'notifications/cancelled', params: null }],
    [{ method: 'notifications/cancelled', params: { requestId: { toString: null } } }],
    [{ method: 'notifications/progress', params: { progressToken: [] } }],
    [{ id: 1, method: 'tools/call', params: [null] }],
  ])('does not stumble over %j', (message) => {
    const { log, capture } = start();
    capture.seen('to-server', message);
    capture.seen('to-client', message);
    capture.answered(message, 200);
    capture.closed(message, 'server');
    expect(log.lines).toEqual([]);
  });
});
