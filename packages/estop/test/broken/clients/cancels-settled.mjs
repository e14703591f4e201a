/** Broken: the client does not let go of the caller's signal when a call has settled, and still sends its cancel. */
import { connectSdkV2 } from '../../../dist/probe/subject/sdk-v2.js';
import { between, transportTo } from './wrap.mjs';

export const connect = async (endpoint, era, timeoutMs) => {
  const ids = new Map();
  const transport = transportTo(endpoint);
  const watched = between(transport, (message, forward) => {
    if (message.method === 'tools/call') ids.set(message.params.arguments.test_id, message.id);
    return forward(message);
  });
  const inner = await connectSdkV2(watched, era, timeoutMs);
  return {
    ...inner,
    async call(tool, args, signal) {
      const result = await inner.call(tool, args, signal);
      signal.addEventListener('abort', () => {
        const params = { requestId: ids.get(args.test_id), reason: 'the caller has lost interest' };
        void transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
      });
      return result;
    },
  };
};
