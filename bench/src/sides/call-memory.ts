/** One tools/call after the other in memory. Arguments: bare | protected. */
import { answerRounds, usEach } from './answering.ts';
import { connect, newServer } from './in-memory.ts';
import { addEcho, ECHO } from './tools.ts';

const server = await newServer();
addEcho(server);
const client = await connect(server);

answerRounds((count) =>
  usEach(count, async () => {
    for (let n = 0; n < count; n += 1) await client.callTool(ECHO);
  }),
);
