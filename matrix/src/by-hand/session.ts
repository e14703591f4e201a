/**
 * A subject in a process of its own, a client by hand that is connected to it, and the far end of its tool.
 */
import { commandOf, type Mode, type Setup } from '../setups.ts';
import type { Exchange } from './client.ts';
import { type Heard, startControl } from './control.ts';
import { httpClient } from './http-client.ts';
import { freePort, listening, startProcess } from './process.ts';
import { stdioClient } from './stdio-client.ts';
import { within } from './waits.ts';

export interface Session {
  /** Resolves when the call's handler has started, and waits at its gate. */
  call(testId: string): Promise<Exchange & { readonly handler: Heard }>;
}

/** ms in which a subject has to do what every subject does: generous, and costs no time. */
const AMPLE_MS = 20_000;

/**
 * @returns what `measure` does; the subject and all else have ended then
 * @throws Error when the subject does not start, or its handler does not
 */
export async function inSession<T>(setup: Setup, mode: Mode, measure: (session: Session) => Promise<T>): Promise<T> {
  const control = await startControl();
  const port = await freePort();
  const subject = startProcess(commandOf(setup, mode, port), control.env);
  const must = async (happens: Promise<unknown>, otherwise: string): Promise<void> => {
    if (!(await within(happens, AMPLE_MS))) throw new Error(`${otherwise}: ${subject.lastWords()}`);
  };
  try {
    if (setup.transport === 'http') await listening(port, subject);
    const client = setup.transport === 'http' ? httpClient(port, setup.era) : stdioClient(subject, setup.era);
    await must(client.open(), 'the subject did not answer');
    return await measure({
      async call(testId) {
        const exchange = client.call(control.argsOf(testId));
        const handler = control.heard(testId);
        await must(handler.started, 'the handler did not start');
        return Object.assign(exchange, { handler });
      },
    });
  } finally {
    await subject.end();
    await control.close();
  }
}
