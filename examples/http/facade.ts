// The façade: clients of both eras, on http://127.0.0.1:3000/mcp; ended by SIGTERM or Ctrl-C
import { createMcpServer } from '@estop/server';
import { z } from 'zod';

const app = createMcpServer({ name: 'web', toolTimeoutMs: 20_000 });

app.tool({
  name: 'page',
  input: z.object({ url: z.url() }),
  handler: async ({ url }, { signal }) => (await fetch(url, { signal })).text(),
});

await app.serve({ transport: 'http', port: Number(process.argv[2] ?? 3000) });
