/** Sound: the handler passes its signal on to its work. */
import { slowMarker } from '../../../dist/kit/index.js';
import { serve } from './serve.mjs';

serve(slowMarker({ onSignal: 'forward' }));
