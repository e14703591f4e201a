/**
 * A cancel request: PostgreSQL's own way to end what runs on a connection, sent over a second one by pg itself.
 *
 * It names a connection, not a statement, so one that comes late would end the *next* statement. Therefore nothing is
 * read from the first connection until the second one is closed: pg sends the next statement only when it has read that
 * the last one is over, and the server closes the second connection only when its signal has been sent.
 * What remains: POSIX does not promise that a signal is seen before bytes that were sent after it (on Linux it is, and
 * PostgreSQL drops a cancel that finds no statement); and a pooler in between answers for itself. So a pool's connection
 * is not used again after a cancel, see `query`.
 *
 * Does not say whether the server heard it, nor whether the statement ends: only the server's answer to that one does.
 * Has no limit of its own: where the second connection hangs, so does the first, until the system gives one of them up.
 */
import { type Client, connectionClassOf } from './driver.ts';

/** @param done  is told, once, when the server has done what it does about it, or could not be reached */
export function sendCancel(client: Client, done: () => void): void {
  const { connection, host, port, ssl, sslNegotiation, processID, secretKey } = client;
  if (processID === null || secretKey === null) {
    done();
    return;
  }
  const { stream } = connection;
  stream.pause();
  const second = new (connectionClassOf(client))({ ssl, sslNegotiation });
  // Its end comes too. An undelivered cancel changes nothing: the statement is not answered.
  second.on('error', () => {});
  second.once('end', () => {
    stream.resume();
    done();
  });
  const send = (): void => second.cancel(processID, secretKey);
  if (!ssl) second.once('connect', send);
  else {
    second.once('sslconnect', send);
    if (sslNegotiation !== 'direct') second.once('connect', () => second.requestSsl());
  }
  if (host.startsWith('/')) second.connect(`${host}/.s.PGSQL.${port}`);
  else second.connect(port, host);
}
