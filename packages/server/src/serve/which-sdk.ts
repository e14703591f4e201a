/**
 * Of which major of the SDK a factory's servers are. Where both are installed, what it makes shows it.
 */
import { isV1, type ProtectableServer, protocolOf } from '../sdk/shapes.ts';
import type { Entry } from './entry.ts';
import type { ServerFactory, ServeStdioOptions } from './stdio.ts';
import { entryV1, V1 } from './stdio-v1.ts';
import { entryV2, V2 } from './stdio-v2.ts';

interface Which {
  readonly entry: Entry;
  /** The factory; a server that was looked at is its first one. */
  readonly make: ServerFactory;
}

/** @throws as `serveStdio` */
export async function entryFor(factory: ServerFactory, { legacy }: ServeStdioOptions): Promise<Which> {
  const hasV1 = isInstalled(`${V1}/server/stdio.js`);
  const hasV2 = isInstalled(`${V2}/stdio`);
  if (!hasV1 && !hasV2) {
    throw new Error(`estop: serveStdio() needs an SDK of MCP: npm i ${V2} (2.x), or npm i ${V1} (1.x)`);
  }
  if (legacy === 'reject') {
    if (!hasV2) throw legacyAlone('serveStdio(): ');
    return { entry: await entryV2(), make: modern(factory) };
  }
  if (!hasV1) return { entry: await entryV2(), make: factory };
  const first = firstOf(factory);
  if (hasV2 && !(await isServerOfV1(first))) return { entry: await entryV2(), make: beginningWith(first, factory) };
  await first;
  return { entry: await entryV1(), make: () => first };
}

export function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    return false;
  }
}

async function firstOf(factory: ServerFactory): Promise<ProtectableServer> {
  return factory({ era: 'legacy' });
}

/** Not where there is none: then v2's entry tells the client so. */
async function isServerOfV1(server: Promise<ProtectableServer>): Promise<boolean> {
  try {
    return isV1(protocolOf(await server));
  } catch {
    return false;
  }
}

function beginningWith(first: Promise<ProtectableServer>, factory: ServerFactory): ServerFactory {
  let isTaken = false;
  return (serving) => {
    if (isTaken || serving.era !== 'legacy') return factory(serving);
    isTaken = true;
    return first;
  };
}

function modern(factory: ServerFactory): ServerFactory {
  return async (serving) => {
    const server = await factory(serving);
    if (isV1(protocolOf(server))) throw legacyAlone('serveStdio(): ');
    return server;
  };
}

/** @param where names the place for the error: `serveStdio(): ` */
export function legacyAlone(where: string): TypeError {
  return new TypeError(`estop: ${where}a server of ${V1} 1.x speaks the legacy era alone: leave legacy: "reject" out`);
}
