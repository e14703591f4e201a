/** Broken: the work stops, and the handler starts it again, out of reach of the signal. */
import { slowMarker } from '../../../dist/kit/index.js';
import { serve } from './serve.mjs';

const slow = slowMarker({ onSignal: 'forward' });
serve(async (args, context) => {
  try {
    return await slow(args, context);
  } catch (error) {
    await fetch(args.work_url, { method: 'POST' });
    throw error;
  }
});
