/** Broken: the handler is deaf, and its own request gives up after as many ms as its argument says, cancelled or not. */
import { slowMarker } from '../../../dist/kit/index.js';
import { oneAtATime, replaceFetch, serve } from './serve.mjs';

const [ownMs, order] = process.argv.slice(2);
// The first request of a process takes long by itself; so the first is not the one that counts.
await fetch(process.env.ESTOP_CONTROL_URL).then((response) => response.text());

const slow = slowMarker({ onSignal: 'ignore' });
replaceFetch((url, init, fetch) => fetch(url, { ...init, signal: AbortSignal.timeout(Number(ownMs)) }));
serve(order === 'one-at-a-time' ? oneAtATime(slow) : slow);
