/** Broken: the handler gives up on its signal, and does not pass it on to its work. */
import { slowMarker } from '../../../dist/kit/index.js';
import { serve } from './serve.mjs';

serve(slowMarker({ onSignal: 'listen' }));
