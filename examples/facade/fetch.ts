/**
 * A tool that fetches, and a page that never ends: at the deadline the request is over, and the website knows.
 *
 *     npm run build && node examples/dist/facade/fetch.js
 */
import { once } from 'node:events';
import { createMcpServer } from '@estop/server';
import { isMain, type Say, say, stopOf } from './parts/main.ts';
import { soon } from './parts/soon.ts';
import { openWebsite, type Website } from './parts/website.ts';

export async function demonstrate(site: Website, say: Say): Promise<void> {
  // Half a minute for any tool; five seconds for this one; and half a second for one of its calls, below.
  const app = createMcpServer({ name: 'web', toolTimeoutMs: 30_000 });

  app.tool({
    name: 'scrape_webpage',
    description: 'The HTML of a page, within five seconds',
    timeoutMs: 5_000,
    handler: async ({ url }: { url: string }, context) => {
      const page = await fetch(url, { signal: context.signal });
      return page.text();
    },
  });

  say(`call:    a page that answers: ${await app.callTool('scrape_webpage', { url: `${site.url}/quick` })}`);

  const hangUp = once(site.events, 'hang-up');
  const stuck = app.callTool('scrape_webpage', { url: `${site.url}/stuck` }, { timeoutMs: 500 });
  say(`stop:    a page that does not end: ${(await stopOf(stuck)).message}`);

  await soon(hangUp, 'the website sees that its client is gone');
  say(`stopped: the request; the website saw ${site.seen.hangUps} of ${site.seen.requests} clients hang up`);
  await app.stop();
}

if (isMain(import.meta)) {
  const site = await openWebsite();
  await demonstrate(site, say).finally(() => site.close());
}
