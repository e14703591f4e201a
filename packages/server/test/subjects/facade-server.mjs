/** A façade on real stdio. What its handlers see they say on stderr, which outlives the connection. */
import { createMcpServer } from '@estop/server';

const say = (text) => process.stderr.write(`${text}\n`);
const abort = (signal) => new Promise((resolve) => signal.addEventListener('abort', resolve));

const app = createMcpServer({ name: 'facade', toolTimeoutMs: 600_000, graceMs: 300 });

app
  .tool({ name: 'greet', handler: ({ name }) => `Hello ${name}` })
  .tool({
    name: 'hold',
    async handler({ as }, context) {
      say(`${as} started`);
      await abort(context.signal);
      say(`${as} stopped: ${context.signal.reason.kind}`);
    },
  })
  .tool({ name: 'deaf', timeoutMs: 100, handler: () => new Promise(() => setInterval(() => {}, 1_000)) })
  .tool({
    name: 'stop',
    handler() {
      setImmediate(() => app.stop().then(() => say('stopped for good')));
      return 'stopping';
    },
  });

await app.serve();
