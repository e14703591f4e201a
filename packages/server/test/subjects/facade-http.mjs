/** A façade on a real port, which it says on stderr, as it says what its handlers see. */
import { createMcpServer } from '@estop/server';

const say = (text) => process.stderr.write(`${text}\n`);
const abort = (signal) => new Promise((resolve) => signal.addEventListener('abort', resolve));

const app = createMcpServer({ name: 'facade', drainMs: Number(process.env.DRAIN_MS ?? 600_000), graceMs: 300 });

const released = new Promise((resolve) => process.stdin.once('data', resolve));
app
  .tool({
    name: 'hold',
    async handler(_args, { signal }) {
      say('hold started');
      await Promise.race([abort(signal), released]);
      say(signal.aborted ? `hold stopped: ${signal.reason.kind}` : 'hold ended by itself');
      return 'done';
    },
  })
  .tool({ name: 'quick', handler: () => 'quick' });

const serving = await app.serve({ transport: 'http', port: 0 });
serving.closed.then(() => say('closed'));
say(`at ${serving.url} `);
