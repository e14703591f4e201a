/**
 * From the client's abort to the handler's signal, over HTTP. Arguments: a wiring.
 *
 * Where the bare SDK loses the cancel, what is protected is alone: after it was seen that the bare one goes on.
 */
import { ALL_KINDS } from '../kinds.ts';
import { WIRINGS } from '../wirings.ts';
import { Cannot, medianOf } from './answering.ts';
import { answerInTurns } from './in-turns.ts';
import { askedWiring, connectOverHttp, type OverHttp } from './over-http.ts';
import { Silent } from './told.ts';
import { WAIT } from './tools.ts';

/** How long the bare one is watched: a cancel that arrives takes less than one. */
const WATCHED_MS = 1_000;

const wiring = askedWiring();
const { losesCancels } = WIRINGS[wiring];

answerInTurns<OverHttp>({
  kinds: losesCancels ? ['protected'] : ALL_KINDS,
  async connect(kind, pin) {
    if (losesCancels) await seeThatBareGoesOn(pin);
    return connectOverHttp(wiring, kind, pin);
  },
  measure: (server, count) => medianOf(count, () => cancelOnce(server)),
});

async function seeThatBareGoesOn(pin: readonly string[]): Promise<void> {
  const bare = await connectOverHttp(wiring, 'bare', pin);
  try {
    await cancelOnce(bare, WATCHED_MS);
  } catch (error) {
    if (error instanceof Cannot) return;
    throw error;
  } finally {
    bare.end();
  }
  throw new Error('the bare SDK did not lose the cancel: compare with it');
}

/**
 * @returns microseconds
 * @throws Cannot when the cancel does not arrive
 */
async function cancelOnce({ client, told }: OverHttp, withinMs?: number): Promise<number> {
  const started = told.next('started');
  started.catch(() => {});
  const call = client.call(WAIT);
  const isAnswered = call.answered.then(
    () => true,
    () => false,
  );
  // A call that cannot be made is not waited for.
  await Promise.race([started, call.answered]);
  const fired = told.next('fired', withinMs).catch((error: unknown) => {
    throw error instanceof Silent ? new Cannot(`the cancel is lost: ${error.message}`) : error;
  });
  const aborted = process.hrtime.bigint();
  const [at] = await Promise.all([fired, call.cancel()]);
  // Not every server ends the exchange.
  call.hangUp();
  if (await isAnswered) throw new Error('a call that was cancelled was answered');
  return Number(BigInt(at) - aborted) / 1_000;
}
