/** From the client's abort to the handler's signal, over stdio. */
import { medianOf } from './answering.ts';
import { answerOverStdio, type OverStdio } from './over-stdio.ts';
import { WAIT } from './tools.ts';

answerOverStdio((server, count) => medianOf(count, () => cancelOnce(server)));

/** @returns microseconds */
async function cancelOnce({ client, told }: OverStdio): Promise<number> {
  const caller = new AbortController();
  const started = told.next('started');
  const answered = client.callTool(WAIT, { signal: caller.signal }).then(
    () => 'answered',
    () => 'cancelled',
  );
  await started;
  const fired = told.next('fired');
  const aborted = process.hrtime.bigint();
  caller.abort();
  const at = await fired;
  if ((await answered) !== 'cancelled') throw new Error('a call that was cancelled was answered');
  return Number(BigInt(at) - aborted) / 1_000;
}
