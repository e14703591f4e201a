/** Broken: of the signals that come while work runs, only every other one is passed on to it. */
import { slowMarker } from '../../../dist/kit/index.js';
import { replaceFetch, serve } from './serve.mjs';

const signals = new Map();
let turn = 0;
replaceFetch((url, init, fetch) => {
  const own = new AbortController();
  signals.get(url)?.addEventListener('abort', () => {
    turn += 1;
    if (turn % 2 === 1) own.abort();
  });
  return fetch(url, { ...init, signal: own.signal });
});

const slow = slowMarker({ onSignal: 'ignore' });
serve((args, context) => {
  signals.set(args.work_url, context.mcpReq.signal);
  return slow(args, context);
});
