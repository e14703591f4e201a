/** Broken: a cancel ends the whole server, and so closes the work. */
import { slowMarker } from '../../../dist/kit/index.js';
import { serve } from './serve.mjs';

const slow = slowMarker({ onSignal: 'forward' });
serve((args, context) => {
  context.mcpReq.signal.addEventListener('abort', () => process.exit(1));
  return slow(args, context);
});
