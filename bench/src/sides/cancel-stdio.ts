/** From the client's abort to the handler's signal, over stdio. */
import { once } from 'node:events';
import { median } from '../row.ts';
import { answerInTurns, type OverStdio } from './over-stdio.ts';

await answerInTurns(async (server, count) => {
  const latencies: number[] = [];
  for (let n = 0; n < count; n += 1) latencies.push(await cancelOnce(server));
  return median(latencies);
});

/** @returns microseconds */
async function cancelOnce({ client, told }: OverStdio): Promise<number> {
  const caller = new AbortController();
  const nextLine = async (): Promise<string> => String((await once(told, 'line'))[0]);
  const started = nextLine();
  const answered = client.callTool({ name: 'wait' }, { signal: caller.signal }).then(
    () => 'answered',
    () => 'cancelled',
  );
  expectLine(await started, 'started');
  const fired = nextLine();
  const aborted = process.hrtime.bigint();
  caller.abort();
  const [, at] = expectLine(await fired, 'fired');
  if ((await answered) !== 'cancelled') throw new Error('a call that was cancelled was answered');
  return Number(BigInt(at ?? '') - aborted) / 1_000;
}

function expectLine(line: string, word: string): string[] {
  const words = line.split(' ');
  if (words[0] !== word) throw new Error(`the server said ${JSON.stringify(line)}, not ${JSON.stringify(word)}`);
  return words;
}
