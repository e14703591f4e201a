/** Is copied to where there are the SDKs of the test alone. Serves one of `SDK` on a port, and says which. */
import { createServer } from 'node:http';
import { createEstop } from '@estop/server';

const say = (text) => process.stderr.write(`${text}\n`);

async function factory({ era }) {
  say(`made for ${era}`);
  const { McpServer } = await import(process.env.SDK);
  const server = new McpServer({ name: 'only', version: '1' });
  server.registerTool('hello', {}, async () => ({ content: [{ type: 'text', text: 'hello' }] }));
  return server;
}

const handler = createEstop().nodeHandler(factory, { onerror: ({ message }) => say(message) });
const http = createServer((request, response) => void handler(request, response));
http.listen(0, '127.0.0.1', () => say(`at http://127.0.0.1:${http.address().port}/ `));
