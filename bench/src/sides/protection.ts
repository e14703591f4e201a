/**
 * What is around a side's server: nothing, or estop with a deadline for every call, as the façade has it.
 *
 * The bare side never loads estop.
 */
import type { Estop } from '@estop/server';
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

export type Protection = 'bare' | 'protected';

const TIMEOUT_MS = 50_000;

/** The side's first argument. */
export function protection(): Protection {
  const [, , given] = process.argv;
  if (given !== 'bare' && given !== 'protected') throw new Error(`bare or protected? ${given}`);
  return given;
}

export async function loadEstop(): Promise<Estop> {
  const { createEstop } = await import('@estop/server');
  return createEstop({ timeoutMs: TIMEOUT_MS });
}

/** Puts the side's protection, if it has one, around a new server. */
export async function newServer(): Promise<McpServer> {
  const server = new McpServer({ name: 'bench', version: '1.0.0' });
  return protection() === 'bare' ? server : (await loadEstop()).protect(server);
}

/** Serves over stdio, in both cases by what a server's author would use. */
export async function serve(addTools: (server: McpServer) => void): Promise<void> {
  const factory = (): McpServer => {
    const server = new McpServer({ name: 'bench', version: '1.0.0' });
    addTools(server);
    return server;
  };
  if (protection() === 'bare') serveStdio(factory);
  else await (await loadEstop()).serveStdio(factory);
}
