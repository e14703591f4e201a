/** Is copied to where there are the SDKs of the test alone. Serves one of `SDK`; says what has become of that. */
import { createEstop } from '@estop/server';

const { SDK, LEGACY } = process.env;
const say = (text) => process.stderr.write(`${text}\n`);

async function factory({ era }) {
  say(`made for ${era}`);
  const { McpServer } = await import(SDK);
  const server = new McpServer({ name: 'only', version: '1' });
  server.registerTool('hello', {}, async () => ({ content: [{ type: 'text', text: 'hello' }] }));
  return server;
}

await createEstop()
  .serveStdio(factory, LEGACY ? { legacy: LEGACY } : {})
  .then(
    () => say('serving'),
    ({ name, message }) => say(`${name}: ${message}`),
  );
