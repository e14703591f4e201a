/**
 * A tool that computes step by step, and looks at its signal between the steps: its caller gives up, and it ends.
 *
 *     npm run build && node examples/dist/facade/loop.js
 */
import { once } from 'node:events';
import { createMcpServer } from '@estop/server';
import { isMain, type Say, say, stopOf } from './parts/main.ts';
import { soon } from './parts/soon.ts';
import { Steps } from './parts/steps.ts';

const EPOCHS = 1_000;

export async function demonstrate(steps: Steps, say: Say): Promise<void> {
  const app = createMcpServer({ name: 'trainer' });

  app.tool({
    name: 'train_iteration',
    description: 'Trains for some epochs',
    handler: async ({ epochs }: { epochs: number }, context) => {
      for (let epoch = 0; epoch < epochs; epoch++) {
        if (context.signal?.aborted) throw new Error(`stopped before epoch ${epoch}`);
        await steps.compute(epoch);
      }
      return `trained for ${epochs} epochs`;
    },
  });

  say(`call:    a short training: ${await app.callTool('train_iteration', { epochs: 2 })}`);

  const held = once(steps.events, 'held');
  const caller = new AbortController();
  const long = stopOf(app.callTool('train_iteration', { epochs: EPOCHS }, { signal: caller.signal }));
  await soon(held, 'the training reaches the step that is held');
  caller.abort(new Error('its caller gave up'));
  say(`stop:    a long one: ${(await long).message}`);

  // The caller has its answer; the step that was under way is still there. Now nothing holds the steps any more.
  steps.open();
  await app.stop();
  const { inFlight } = app.stats();
  if (inFlight > 0) throw new Error('the loop goes on');
  say(`stopped: the loop; ${steps.done} steps were done of ${EPOCHS + 2}, and ${inFlight} handlers run`);
}

if (isMain(import.meta)) await demonstrate(new Steps(5), say);
