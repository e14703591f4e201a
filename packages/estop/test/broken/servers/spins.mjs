/** Broken: the work is stopped, and then the cancelled call keeps the server's main loop for itself. */
import { slowMarker } from '../../../dist/kit/index.js';
import { serve } from './serve.mjs';

const slow = slowMarker({ onSignal: 'forward' });
serve(async (args, context) => {
  try {
    return await slow(args, context);
  } catch (error) {
    setImmediate(() => {
      for (;;);
    });
    throw error;
  }
});
