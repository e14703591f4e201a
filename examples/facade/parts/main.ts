/** What each example needs to be a command. */
import { fileURLToPath } from 'node:url';

export type Say = (line: string) => void;

export const say: Say = (line) => console.log(line);

/** Whether this module is what `node` was given, and not imported. */
export function isMain({ url }: ImportMeta): boolean {
  return process.argv[1] === fileURLToPath(url);
}

/** @returns what a call that has to be stopped was stopped with; @throws when it came back instead */
export async function stopOf(call: Promise<unknown>): Promise<Error> {
  let value: unknown;
  try {
    value = await call;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
  throw new Error(`the call came back with ${JSON.stringify(value)}`);
}
