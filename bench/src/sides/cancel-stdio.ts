/** From the client's abort to the handler's signal, over stdio. Arguments: bare | protected. */
import { median } from '../row.ts';
import { answerRounds } from './answering.ts';
import { connectOverStdio } from './over-stdio.ts';

const { client, told } = await connectOverStdio();
let heard: (line: string) => void = () => {};
told.on('line', (line) => heard(line));
const nextLine = (): Promise<string> =>
  new Promise((resolve) => {
    heard = resolve;
  });

answerRounds(async (count) => {
  const latencies: number[] = [];
  for (let n = 0; n < count; n += 1) latencies.push(await cancelOnce());
  return median(latencies);
});

/** @returns microseconds */
async function cancelOnce(): Promise<number> {
  const caller = new AbortController();
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
