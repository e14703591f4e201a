/** One tools/call after the other over stdio. */
import { usEach } from './answering.ts';
import { answerOverStdio } from './over-stdio.ts';
import { ECHO } from './tools.ts';

answerOverStdio(({ client }, count) =>
  usEach(count, async () => {
    for (let n = 0; n < count; n += 1) await client.callTool(ECHO);
  }),
);
