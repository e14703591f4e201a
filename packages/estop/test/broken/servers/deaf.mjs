/** Broken: the handler does nothing about its signal. */
import { slowMarker } from '../../../dist/kit/index.js';
import { serve } from './serve.mjs';

serve(slowMarker({ onSignal: 'ignore' }));
