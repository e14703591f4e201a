/**
 * The mark in the environment by which a process is known as work of a call, also when it has left its group.
 *
 * A process inherits it, whatever it becomes, unless it clears its environment: to find the mark is a fact, not to find
 * it is evidence and no proof. It names no call and no client, and it is no secret.
 */
import { randomBytes } from 'node:crypto';

/** Marks, the outermost first: what a server under estop starts has the mark of that server's own call before its own. */
export const COOKIE_VARIABLE = 'ESTOP_WORK';

/** Of all that this process starts. */
export const COOKIE_TOKEN = randomBytes(12).toString('hex');

const BETWEEN = ':';
let started = 0;

/** A mark that nothing has had before. */
export function newCookie(): string {
  started += 1;
  return `${COOKIE_TOKEN}.${started}`;
}

/** The environment with the mark in it, first: there it survives a reader with a small buffer. */
export function withCookie(
  cookie: string,
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  const outer = process.env[COOKIE_VARIABLE];
  return { [COOKIE_VARIABLE]: outer ? `${outer}${BETWEEN}${cookie}` : cookie, ...without(environment) };
}

export function cookiesIn(value: string): string[] {
  return value.split(BETWEEN);
}

function without(environment: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  const { [COOKIE_VARIABLE]: _, ...others } = environment;
  return others;
}
