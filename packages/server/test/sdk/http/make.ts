/** A protected server over HTTP for one test. */
import { createEstop, type Estop, type EstopOptions } from '@estop/server';
import { type AnyServer, Holding, type Served, type Serving, type Setup } from '../../support/http-setups.ts';
import { RawClient } from '../../support/raw-http.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

export interface Made extends Served {
  readonly estop: Estop;
  readonly holding: Holding;
  readonly clock: VirtualClock;
  /** What the servers and their transports complained of. */
  readonly errors: string[];
  /** The servers, in the order in which they were made. */
  readonly servers: AnyServer[];
  connect(headers?: Record<string, string>): Promise<RawClient>;
}

export async function make(setup: Setup, options: EstopOptions = {}, serving: Partial<Serving> = {}): Promise<Made> {
  const clock = new VirtualClock();
  const estop = createEstop({ clock, cleanupMs: Infinity, ...options });
  const holding = new Holding();
  const [errors, servers]: [string[], AnyServer[]] = [[], []];
  const protect = <T extends AnyServer>(server: T): T => {
    servers.push(server);
    server.server.onerror = ({ message }) => void errors.push(message);
    return estop.protect(server);
  };
  const served = await setup.serve({ protect, holding, ...serving });
  const connect = (headers?: Record<string, string>): Promise<RawClient> =>
    new RawClient(served.url, setup.era, headers).initialize();
  return { ...served, estop, holding, clock, errors, servers, connect };
}
