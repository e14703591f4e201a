/** One tools/call after the other over HTTP. Arguments: a wiring. */
import { ALL_KINDS } from '../kinds.ts';
import { medianOf, usEach } from './answering.ts';
import { answerInTurns } from './in-turns.ts';
import { askedWiring, connectOverHttp, type OverHttp } from './over-http.ts';
import { ECHO } from './tools.ts';

const wiring = askedWiring();

answerInTurns<OverHttp>({
  kinds: ALL_KINDS,
  connect: (kind, pin) => connectOverHttp(wiring, kind, pin),
  measure: ({ client }, count) => medianOf(count, () => usEach(1, () => client.call(ECHO).answered)),
});
