/** What the subjects share: the bare SDK v2 over stdio, both eras, with the kit's tool and the handler given here. */
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { slowMarkerTool } from '../../../dist/kit/index.js';

export function serve(handler, { onServer = () => {} } = {}) {
  serveStdio(() => {
    const server = new McpServer({ name: 'subject', version: '1.0.0' });
    server.registerTool(slowMarkerTool.name, slowMarkerTool.config, handler);
    onServer(server);
    return server;
  });
}

/** Puts `replacement(url, init, fetch)` in the place of the `fetch` that the kit does its work with. */
export function replaceFetch(replacement) {
  const { fetch } = globalThis;
  globalThis.fetch = (url, init) => replacement(String(url), init, fetch);
}

/** The handler, whose calls wait for each other. */
export function oneAtATime(handler) {
  let last = Promise.resolve();
  return (...call) => {
    const mine = last.then(() => handler(...call));
    last = mine.catch(() => {});
    return mine;
  };
}
