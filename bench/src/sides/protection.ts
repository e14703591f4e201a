/**
 * What is around a side's server: nothing, or estop with a deadline for every call, as the façade has it.
 *
 * The bare side never loads estop.
 */
import type { Estop, ProtectableServer } from '@estop/server';

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

/** @returns what puts the side's protection, if it has one, around a new server: one engine for all of them */
export async function protector(): Promise<<T extends ProtectableServer>(server: T) => T> {
  if (protection() === 'bare') return (server) => server;
  const estop = await loadEstop();
  return (server) => estop.protect(server);
}
