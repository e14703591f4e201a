/**
 * The eleven set-ups of the official SDKs, and how a subject in each is started.
 */
import { fileURLToPath } from 'node:url';

export const SETUPS = [
  { name: 'v1 stdio', subject: 'v1-stdio', transport: 'stdio', era: 'legacy' },
  { name: 'v1 stateful SSE', subject: 'v1-stateful', answers: 'sse', transport: 'http', era: 'legacy' },
  { name: 'v1 stateful JSON', subject: 'v1-stateful', answers: 'json', transport: 'http', era: 'legacy' },
  { name: 'v1 stateless SSE', subject: 'v1-stateless', answers: 'sse', transport: 'http', era: 'legacy' },
  { name: 'v1 stateless JSON', subject: 'v1-stateless', answers: 'json', transport: 'http', era: 'legacy' },
  { name: 'v2 stdio legacy', subject: 'v2-stdio', transport: 'stdio', era: 'legacy' },
  { name: 'v2 stdio modern', subject: 'v2-stdio', transport: 'stdio', era: 'modern' },
  { name: 'v2 stateful legacy', subject: 'v2-stateful', transport: 'http', era: 'legacy' },
  { name: 'v2 handler, legacy leg', subject: 'v2-handler', transport: 'http', era: 'legacy' },
  { name: 'v2 handler, modern SSE', subject: 'v2-handler', answers: 'sse', transport: 'http', era: 'modern' },
  { name: 'v2 handler, modern JSON', subject: 'v2-handler', answers: 'json', transport: 'http', era: 'modern' },
] as const satisfies readonly Init[];

interface Init {
  readonly name: string;
  /** The file under `subjects/`. */
  readonly subject: string;
  readonly transport: 'stdio' | 'http';
  readonly era: 'legacy' | 'modern';
  readonly answers?: 'sse' | 'json';
}

export type SetupName = (typeof SETUPS)[number]['name'];
export type Setup = Init & { readonly name: SetupName };
/** Without estop, or with it. */
export type Mode = 'bare' | 'protected';
export const MODES: readonly Mode[] = ['bare', 'protected'];

/** @param port  a number, or what stands for one; nothing listens where the transport is stdio */
export function commandOf({ subject, answers }: Setup, mode: Mode, port: number | string): string[] {
  // Also where this runs from its sources.
  const file = fileURLToPath(new URL(`../dist/subjects/${subject}.js`, import.meta.url));
  return [process.execPath, file, mode, String(port), ...(answers ? [answers] : [])];
}
