/**
 * After every test file nothing is left: no process, thread, socket, listener, timer or unhandled rejection.
 *
 * Fails the file, and names what is left. Waits up to 15 s for what is on its way
 * out, a request of vitest to its own parent on a loaded machine included, and no longer than it takes.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import { type Holdings, holdings, leftAfter } from './leftovers.ts';

const WITHIN_MS = 15_000;

const value = randomUUID();
const cookie = `ESTOP_TEST_COOKIE=${value}`;
process.env['ESTOP_TEST_COOKIE'] = value;
const rejections: string[] = [];
const onRejection = (reason: unknown): void => {
  rejections.push(`unhandled rejection: ${reason instanceof Error ? reason.stack : String(reason)}`);
};
let before: Holdings;

beforeAll(() => {
  process.on('unhandledRejection', onRejection);
  const now = holdings(cookie);
  // A timer that runs here is one of vitest's short ones: it is waited for at the end, not allowed for.
  before = { ...now, resources: new Map([...now.resources].filter(([kind]) => kind !== 'Timeout')) };
});

afterAll(async () => {
  const left = [...(await leftAfter(before, cookie, WITHIN_MS)), ...rejections];
  process.off('unhandledRejection', onRejection);
  if (left.length > 0) throw new Error(`this test file left something behind:\n  ${left.join('\n  ')}`);
});
