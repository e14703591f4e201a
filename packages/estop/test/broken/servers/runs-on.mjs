/** Broken in its handler only: the signal closes the work, and the handler goes on as if it had been done. */
import { slowMarker } from '../../../dist/kit/index.js';
import { replaceFetch, serve } from './serve.mjs';

const signals = new Map();
replaceFetch((url, init, fetch) =>
  fetch(url, { ...init, signal: signals.get(url) }).catch(() => new Response('never mind')),
);

const slow = slowMarker({ onSignal: 'ignore' });
serve((args, context) => {
  signals.set(args.work_url, context.mcpReq.signal);
  return slow(args, context);
});
