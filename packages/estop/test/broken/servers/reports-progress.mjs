/** Broken: the handler is deaf, and goes on reporting progress after the cancel; the bare SDK lets that through. */
import { slowMarker } from '../../../dist/kit/index.js';
import { serve } from './serve.mjs';

serve(slowMarker({ onSignal: 'ignore', progress: true }));
