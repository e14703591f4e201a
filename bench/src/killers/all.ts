/** All that are compared, by name. Each is loaded only where it kills: it is not to be disturbed by the others. */
import type { Killer } from './killer.ts';

export const KILLERS = {
  estop: async () => (await import('./estop.ts')).byEstop(false),
  'estop, cgroup': async () => (await import('./estop.ts')).byEstop(true),
  'tree-kill': async () => (await import('./tree-kill.ts')).byTreeKill,
  execa: async () => (await import('./execa.ts')).byExeca,
  workerpool: async () => (await import('./workerpool.ts')).byWorkerpool,
  piscina: async () => (await import('./piscina.ts')).byPiscina,
} as const satisfies Record<string, () => Promise<Killer>>;

export type KillerName = keyof typeof KILLERS;
