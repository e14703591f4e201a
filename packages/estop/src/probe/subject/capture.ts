/**
 * The capture: reads the frames that the tee on a subject's pipes, or the proxy before it, shows it, and logs those
 * that belong to an attempt.
 *
 * A request belongs to the attempt whose test id stands in its params; its id and its progress token then lead what
 * follows back to it. A frame of no attempt is not logged. Does not change, hold or validate a frame.
 */
import { randomBytes } from 'node:crypto';
import type { WireEvent, WireFrame, WireId } from '../events.ts';
import type { Log } from '../log.ts';

export interface Capture {
  /** Makes a test id known, before the call that carries it is sent. */
  expect(testId: string): void;
  /** One parsed frame, of any shape; must be called before the frame goes on. */
  seen(direction: WireFrame['direction'], message: unknown): void;
  /** HTTP: the POST that carried the frame was answered, before anything that the answer carries. */
  answered(message: unknown, status: number): void;
  /** HTTP: the response stream of the POST that carried the frame was closed before its end. */
  closed(message: unknown, by: 'client' | 'server'): void;
}

export function newTestId(): string {
  return `t-${randomBytes(8).toString('hex')}`;
}

const TEST_ID = /t-[0-9a-f]{16}/g;

/** One for each subject process: a client's ids start again with each connection. */
export function createCapture(log: Log): Capture {
  const expected = new Set<string>();
  // By id with its type: 7 and "7" are two ids, and two progress tokens.
  const byId = new Map<unknown, string>();
  const byToken = new Map<unknown, string>();
  // By the id's text: a cancel whose id has the wrong type is still this attempt's cancel, and logged as it was.
  const byText = new Map<string, string>();

  function attribute(direction: WireFrame['direction'], frame: Fields): string | undefined {
    const params = fields(frame['params']);
    if (direction === 'to-client') {
      if (kindOf(frame) === 'response') return byId.get(frame['id']);
      return frame['method'] === 'notifications/progress' ? byToken.get(params['progressToken']) : undefined;
    }
    if (kindOf(frame) === 'request') return learn(frame, params);
    if (frame['method'] !== 'notifications/cancelled') return undefined;
    const id = params['requestId'];
    return byId.get(id) ?? (isWireId(id) ? byText.get(String(id)) : undefined);
  }

  function learn(frame: Fields, params: Fields): string | undefined {
    const testId = JSON.stringify(params)
      .match(TEST_ID)
      ?.find((found) => expected.has(found));
    if (testId === undefined) return undefined;
    byId.set(frame['id'], testId);
    byText.set(String(frame['id']), testId);
    const token = fields(params['_meta'])['progressToken'];
    if (isWireId(token)) byToken.set(token, testId);
    return testId;
  }

  /** Of a message, or of each part of a batch. */
  function write(direction: WireFrame['direction'], message: unknown, eventOf: (frame: Fields) => WireEvent): void {
    for (const part of Array.isArray(message) ? message : [message]) {
      const frame = fields(part);
      const testId = attribute(direction, frame);
      if (testId !== undefined) log.write('wire', { testId, ...eventOf(frame) });
    }
  }

  return {
    expect: (testId) => void expected.add(testId),
    seen: (direction, message) =>
      write(direction, message, (frame) => ({ event: 'wire', ...reduce(direction, frame) })),
    answered: (message, status) =>
      write('to-server', message, (frame) => ({ event: 'post_answered', status, ...namesOf(frame) })),
    closed: (message, by) =>
      write('to-server', message, (frame) => ({ event: 'stream_closed', by, ...namesOf(frame) })),
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** Of anything: its fields, none where it has none. */
function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function kindOf(frame: Fields): WireFrame['kind'] {
  if (typeof frame['method'] !== 'string') return 'response';
  return isWireId(frame['id']) ? 'request' : 'notification';
}

function isWireId(value: unknown): value is WireId {
  return typeof value === 'string' || typeof value === 'number';
}

/** Of a request or a response its id, of a cancel the id that it names. */
function namesOf({ id, method, params }: Fields): Pick<WireFrame, 'wireId' | 'cancels'> {
  return {
    ...(isWireId(id) && { wireId: id }),
    ...(method === 'notifications/cancelled' && { cancels: fields(params)['requestId'] }),
  };
}

function reduce(direction: WireFrame['direction'], frame: Fields): WireFrame {
  const kind = kindOf(frame);
  const { method } = frame;
  const params = fields(frame['params']);
  return {
    direction,
    kind,
    ...(typeof method === 'string' && { method }),
    ...namesOf(frame),
    ...(method === 'notifications/progress' && { progressToken: params['progressToken'] }),
    ...(kind === 'response' && { isError: 'error' in frame || fields(frame['result'])['isError'] === true }),
  };
}
