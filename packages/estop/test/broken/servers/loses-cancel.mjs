/** Broken: the author's own handler for the cancel takes the place of the SDK's, and no handler gets its signal. */
import { slowMarker } from '../../../dist/kit/index.js';
import { serve } from './serve.mjs';

serve(slowMarker({ onSignal: 'forward' }), {
  onServer: ({ server }) => server.setNotificationHandler('notifications/cancelled', () => console.error('cancelled')),
});
