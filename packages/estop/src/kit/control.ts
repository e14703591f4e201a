/**
 * The subject's side of the probe's control plane, for one run of one handler.
 *
 * Nothing here hangs or crashes the subject when the control plane is gone: a post is lost after a bounded wait, and
 * a gate rejects. Over `node:http` and not `fetch`, because that one gives up on a silent answer after five minutes.
 */
import { randomUUID } from 'node:crypto';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';

export type Checkpoint = 'before_work' | 'waiting_on_work' | 'release_response';

type HandlerEvent =
  | { event: 'handler_signal'; reason?: string }
  | { event: 'handler_acted'; checkpoint: Checkpoint }
  | { event: 'handler_got_result' }
  | { event: 'handler_exited'; how: 'returned' | 'threw' };

export interface Control {
  /** In the order of the calls; resolves when it has arrived, or is lost. Never rejects. */
  post(event: HandlerEvent): Promise<void>;
  /** Resolves when the gate is open. Rejects when the control plane cannot be reached. */
  gate(name: 'before_work' | 'release_response', signal?: AbortSignal): Promise<void>;
  /** Ends the line, once `handler_exited` was posted. */
  hangUp(): void;
}

const POST_TIMEOUT_MS = 2_000;

/** Opens the line: an HTTP request that is never answered. When this process or thread is ended, it closes. */
export function openControl(testId: string): Control {
  const { ESTOP_CONTROL_URL: url, ESTOP_CONTROL_TOKEN: token } = process.env;
  if (!url || !token) {
    throw new Error(
      'estop kit: slow_marker works only under `estop probe`, which sets ESTOP_CONTROL_URL and ESTOP_CONTROL_TOKEN',
    );
  }
  const invocation = randomUUID();

  function send(method: string, path: string, body?: object): ClientRequest {
    const headers = { authorization: `Bearer ${token}` };
    const sent = request(`${url}/tests/${testId}/${path}`, { method, headers, agent: false });
    // Whoever waits listens as well; this one is for those who do not.
    sent.on('error', () => {});
    return sent.end(body && JSON.stringify(body));
  }

  const line = send('POST', 'line', { invocation });
  let lastPost: Promise<unknown> = Promise.resolve();

  return {
    post(event) {
      const posted = lastPost.then(() => {
        const sent = send('POST', 'events', { invocation, ...event });
        sent.setTimeout(POST_TIMEOUT_MS, () => sent.destroy());
        return answered(sent).catch(() => {});
      });
      lastPost = posted;
      return posted.then(() => {});
    },

    async gate(name, signal) {
      const waiting = send('GET', `gates/${name}`);
      const onAbort = (): void => void waiting.destroy();
      signal?.addEventListener('abort', onAbort, { once: true });
      try {
        const { statusCode } = await answered(waiting);
        if (statusCode !== 204) throw new Error(`estop kit: the control plane answered ${statusCode} at gate ${name}`);
      } finally {
        signal?.removeEventListener('abort', onAbort);
      }
    },

    hangUp: () => void line.destroy(),
  };
}

function answered(sent: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sent.once('error', reject);
    sent.once('response', (response) => {
      response.resume();
      resolve(response);
    });
  });
}
