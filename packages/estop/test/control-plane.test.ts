import { describe, expect, it, onTestFinished } from 'vitest';
import { startControlPlane } from '../src/probe/control-plane.ts';
import { newTestId } from '../src/probe/subject/capture.ts';
import { events, seen, send, statusOf, tempLog } from './probe-fixture.ts';

async function start() {
  const log = tempLog();
  const control = await startControlPlane(log);
  onTestFinished(() => control.close());
  const testId = newTestId();
  control.expect(testId);
  const headers = { authorization: `Bearer ${control.token}` };
  const at = `${control.url}/tests/${testId}`;
  return {
    log,
    control,
    testId,
    at,
    headers,
    line: (invocation: string) => send(`${at}/line`, { headers, body: JSON.stringify({ invocation }) }),
    gate: (gate: string) => send(`${at}/gates/${gate}`, { method: 'GET', headers }),
    post: async (body: unknown) => {
      const sent = send(`${at}/events`, { headers, body: typeof body === 'string' ? body : JSON.stringify(body) });
      return sent.answer();
    },
  };
}

describe("a handler's line", () => {
  it('is the start of the handler, gets no byte, and is its end when it closes', async () => {
    const { log, testId, line, post } = await start();
    const held = line('i-1');
    await seen(log, testId, 'handler_started');
    await post({ invocation: 'i-1', event: 'handler_got_result' });
    expect(held.received()).toBe('');
    held.socket.destroy();
    await seen(log, testId, 'handler_gone');
    expect(events(log, testId)).toEqual(['handler_started', 'handler_got_result', 'handler_gone']);
  });

  it('closes without a word once the handler has said that it exited', async () => {
    const { log, testId, line, post } = await start();
    const first = line('i-1');
    await seen(log, testId, 'handler_started');
    await post({ invocation: 'i-1', event: 'handler_exited', how: 'returned' });
    first.socket.destroy();
    await first.closed;
    const second = line('i-2');
    await seen(log, testId, 'handler_started', 2);
    second.socket.destroy();
    await seen(log, testId, 'handler_gone');
    expect(log.of(testId).at(-1)).toMatchObject({ source: 'handler', invocation: 'i-2' });
  });

  it('is one start, also when an event overtakes it', async () => {
    const { log, testId, line, post } = await start();
    await post({ invocation: 'i-1', event: 'handler_signal' });
    const held = line('i-1');
    held.socket.end();
    await seen(log, testId, 'handler_gone');
    expect(events(log, testId)).toEqual(['handler_started', 'handler_signal', 'handler_gone']);
  });

  it('is no end of a handler when the run ends it', async () => {
    const { log, control, testId, line } = await start();
    const held = line('i-1');
    await seen(log, testId, 'handler_started');
    await control.close();
    await held.closed;
    expect(held.received()).toBe('');
    expect(events(log, testId)).toEqual(['handler_started']);
  });
});

describe('a gate', () => {
  it('holds who waits at it without a byte, and lets all go when it opens', async () => {
    const { log, control, testId, gate, post } = await start();
    const waiting = [gate('before_work'), gate('before_work')];
    await post({ invocation: 'i-1', event: 'handler_got_result' });
    expect(waiting.map((one) => one.received())).toEqual(['', '']);
    control.open(testId, 'before_work');
    for (const one of waiting) expect(statusOf(await one.answer())).toBe(204);
    expect(log.of(testId).at(-1)).toMatchObject({ source: 'harness', event: 'gate_opened', gate: 'before_work' });
  });

  it('is open for good, opens once, and is none of the other one', async () => {
    const { log, control, testId, gate } = await start();
    control.open(testId, 'before_work');
    control.open(testId, 'before_work');
    expect(statusOf(await gate('before_work').answer())).toBe(204);
    const other = gate('release_response');
    expect(statusOf(await gate('before_work').answer())).toBe(204);
    expect(other.received()).toBe('');
    expect(events(log, testId)).toEqual(['gate_opened']);
  });

  it('does not mind that somebody left', async () => {
    const { control, testId, gate } = await start();
    const gone = gate('before_work');
    gone.socket.destroy();
    await gone.closed;
    control.open(testId, 'before_work');
    expect(statusOf(await gate('before_work').answer())).toBe(204);
  });
});

describe('what comes over the wire', () => {
  it('is logged as the handler told it', async () => {
    const { log, testId, post } = await start();
    for (const body of [
      { invocation: 'i-1', event: 'handler_signal', reason: 'user \u001b[31mclicked\u202e stop' },
      { invocation: 'i-1', event: 'handler_acted', checkpoint: 'waiting_on_work' },
      { invocation: 'i-1', event: 'handler_exited', how: 'threw' },
    ]) {
      expect(statusOf(await post(body))).toBe(204);
    }
    expect(log.of(testId).slice(1)).toMatchObject([
      { source: 'handler', event: 'handler_signal', reason: 'user [31mclicked stop' },
      { event: 'handler_acted', checkpoint: 'waiting_on_work' },
      { event: 'handler_exited', how: 'threw' },
    ]);
  });

  it('is bounded: a reason has 200 characters at most', async () => {
    const { log, testId, post } = await start();
    await post({ invocation: 'i-1', event: 'handler_signal', reason: 'x'.repeat(5_000) });
    expect(log.of(testId).at(-1)).toMatchObject({ reason: 'x'.repeat(200) });
  });

  it.each([
    ['no JSON', '{', 'the body is not JSON'],
    ['no object', [], 'the body is not a JSON object'],
    ['null', null, 'the body is not a JSON object'],
    ['no invocation', { event: 'handler_got_result' }, 'invocation must be'],
    ['an endless invocation', { invocation: 'x'.repeat(101), event: 'handler_got_result' }, 'invocation must be'],
    ['an unprintable invocation', { invocation: 'a\nb', event: 'handler_got_result' }, 'invocation must be'],
    ['an unknown event', { invocation: 'i', event: 'worker_stopped' }, 'event must be one of'],
    [
      'an unknown checkpoint',
      { invocation: 'i', event: 'handler_acted', checkpoint: 'x' },
      'checkpoint must be one of',
    ],
    ['an unknown end', { invocation: 'i', event: 'handler_exited', how: {} }, 'how must be one of'],
  ])('is answered 400 with a sentence when it is %s', async (_name, body, sentence) => {
    const { log, testId, post } = await start();
    const answer = await post(body);
    expect(statusOf(answer)).toBe(400);
    expect(answer).toContain(sentence);
    expect(log.of(testId)).toEqual([]);
  });

  it('is refused without the token, for another test, and elsewhere', async () => {
    const { control, at, headers } = await start();
    expect(statusOf(await send(`${at}/line`).answer())).toBe(401);
    expect(statusOf(await send(`${at}/line`, { headers: { authorization: 'Bearer x' } }).answer())).toBe(401);
    expect(statusOf(await send(`${control.url}/tests/t-other/line`, { headers }).answer())).toBe(404);
    expect(statusOf(await send(`${at}/gates/allow_commit`, { method: 'GET', headers }).answer())).toBe(404);
    expect(statusOf(await send(`${control.url}/%zz`, { headers }).answer())).toBe(404);
  });

  it('is refused when it is larger than 64 KiB', async () => {
    const { post } = await start();
    expect(statusOf(await post({ invocation: 'i', event: 'handler_signal', reason: 'x'.repeat(70_000) }))).toBe(413);
  });

  it('may break off anywhere', async () => {
    const { log, testId, at, headers, post } = await start();
    const broken = send(`${at}/line`, { headers: { ...headers, 'content-length': '100' }, body: '{"invo' });
    broken.socket.end();
    await broken.closed;
    expect(statusOf(await post({ invocation: 'i-1', event: 'handler_got_result' }))).toBe(204);
    expect(events(log, testId)).toEqual(['handler_started', 'handler_got_result']);
  });
});
