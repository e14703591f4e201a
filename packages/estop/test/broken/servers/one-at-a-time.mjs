/** Sound, and slow: a call waits until the one before it has ended. */
import { slowMarker } from '../../../dist/kit/index.js';
import { oneAtATime, serve } from './serve.mjs';

serve(oneAtATime(slowMarker({ onSignal: 'forward' })));
