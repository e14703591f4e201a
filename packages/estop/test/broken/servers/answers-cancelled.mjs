/** Broken: the work stops, and the cancelled call is answered all the same. */
import { slowMarker } from '../../../dist/kit/index.js';
import { serve } from './serve.mjs';

const slow = slowMarker({ onSignal: 'forward' });
serve(async (args, context) => {
  const { id, signal } = context.mcpReq;
  const answer = { jsonrpc: '2.0', id, result: { resultType: 'complete', content: [] } };
  try {
    return await slow(args, context);
  } finally {
    if (signal.aborted) process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
});
