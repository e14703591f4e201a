/** Bytes of heap that a call in flight takes, in memory. Arguments: bare | protected, untouched | looked-at signal. */
import { answerRounds, heapUsed } from './answering.ts';
import { connect, newServer } from './in-memory.ts';

const WARM_UP = 2_000;

const [, , , signal] = process.argv;
const server = await newServer();
let open = (): void => {};
let gate = Promise.resolve();
server.registerTool('wait', {}, async (context) => {
  if (signal === 'looked-at') void context.mcpReq.signal.aborted;
  await gate;
  return { content: [] };
});
const client = await connect(server);

answerRounds(async (count) => {
  await inFlight(WARM_UP);
  return inFlight(count);
});

async function inFlight(count: number): Promise<number> {
  gate = new Promise((resolve) => {
    open = resolve;
  });
  const before = await heapUsed();
  const calls: Promise<unknown>[] = [];
  for (let n = 0; n < count; n += 1) calls.push(client.callTool({ name: 'wait' }));
  const bytes = (await heapUsed()) - before;
  open();
  await Promise.all(calls);
  return bytes / count;
}
