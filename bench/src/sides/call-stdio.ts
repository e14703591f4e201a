/** One tools/call after the other over stdio. Arguments: bare | protected. */
import { answerRounds, usEach } from './answering.ts';
import { connectOverStdio } from './over-stdio.ts';
import { ECHO } from './tools.ts';

const { client } = await connectOverStdio();

answerRounds((count) =>
  usEach(count, async () => {
    for (let n = 0; n < count; n += 1) await client.callTool(ECHO);
  }),
);
