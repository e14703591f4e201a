/** Over HTTP: a request of its own for each frame, and a connection of its own for each request. */
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { Setup } from '../setups.ts';
import type { HandClient } from './client.ts';
import { callOf, cancelOf, type Frame, initialize, initialized, revisionOf } from './frames.ts';

export function httpClient(port: number, era: Setup['era']): HandClient {
  let session: string | undefined;
  let lastId = 0;

  const post = (frame: Frame): ClientRequest => {
    const { method, params } = frame;
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(method !== 'initialize' && { 'mcp-protocol-version': revisionOf(era) }),
      ...(session !== undefined && { 'mcp-session-id': session }),
      ...(era === 'modern' && { 'mcp-method': method, 'mcp-name': String(params['name']) }),
    };
    const sent = request({ host: '127.0.0.1', port, path: '/mcp', method: 'POST', headers, agent: false });
    sent.on('response', (response) => response.resume().on('error', () => {}));
    // Also when we end it ourselves.
    sent.on('error', () => {});
    return sent.end(JSON.stringify(frame));
  };

  const answered = async (frame: Frame): Promise<IncomingMessage> => {
    const sent = post(frame);
    const [[response]] = await Promise.all([once(sent, 'response'), once(sent, 'close')]);
    return response as IncomingMessage;
  };

  return {
    async open() {
      if (era === 'modern') return;
      const { headers, statusCode } = await answered(initialize);
      if (statusCode !== 200) throw new Error(`initialize was answered with ${statusCode}`);
      session = headers['mcp-session-id'] as string | undefined;
      await answered(initialized);
    },
    call(args) {
      lastId += 1;
      const id = lastId;
      const sent = post(callOf(era, id, args));
      const ended = new Promise<void>((resolve) => void sent.once('close', resolve));
      return {
        async cancel() {
          if (era === 'modern') sent.destroy();
          else await answered(cancelOf(id));
        },
        hangUp: () => void sent.destroy(),
        ended,
      };
    },
  };
}
