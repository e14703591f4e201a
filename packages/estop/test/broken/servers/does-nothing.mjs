/** Broken: the tool answers that all is well, and does no work. */
import { serve } from './serve.mjs';

serve(async () => ({ content: [{ type: 'text', text: 'committed' }] }));
